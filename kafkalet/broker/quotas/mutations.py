"""The quota of partitions created and deleted (KIP-599), as the handlers that do so ask for it."""

from kafkalet.broker.context import Context


def count_mutations(partitions: int, strict_since: int, context: Context) -> None:
    """Let the controller count partitions that are about to be created or deleted.

    THROTTLING_QUOTA_EXCEEDED while the client owes something, where its request is of version `strict_since` or later;
    earlier ones are only slowed down.
    """
    controller = context.broker.brokers.get(context.metadata.controller_id)
    if controller is not None and controller.throttling is not None:
        controller.throttling.mutate(partitions, context.version >= strict_since, context)
