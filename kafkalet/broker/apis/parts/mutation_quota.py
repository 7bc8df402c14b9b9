"""The quota for controller mutations (KIP-599), for the handlers that create or delete partitions."""

from kafkalet.broker.context import Context


def count_mutations(partitions: int, strict_since: int, context: Context) -> None:
    """Count partitions that are about to be created or deleted towards the client's mutation quota.

    Raises KafkaError (THROTTLING_QUOTA_EXCEEDED) if the client is over its quota and the request version is at least
    `strict_since`. With earlier versions, the client is only throttled.
    """
    if context.release.ignores_mutation_quotas:
        return
    controller = context.broker.brokers.get(context.metadata.controller_id)
    if controller is not None and controller.throttling is not None:
        controller.throttling.mutate(partitions, context.version >= strict_since, context)
