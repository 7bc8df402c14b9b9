"""AlterClientQuotas v0-1: set and remove quotas (KIP-546).

Each entity is changed independently and atomically. An entity that is listed twice in the request is refused; releases
that run with ZooKeeper apply its last entry instead.

Source: org.apache.kafka.controller.ClientQuotaControlManager.
"""

from collections.abc import Mapping
from functools import partial

from kafkalet.broker.context import Context
from kafkalet.broker.quotas.entities import QuotaEntity, check_entity, check_value
from kafkalet.broker.quotas.hosts import look_up, names_of
from kafkalet.broker.security.acl import Operation
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse
from kafkalet.tasks.task import in_thread

Entry = AlterClientQuotasRequest.Entry
Answer = AlterClientQuotasResponse.Entry


Addresses = Mapping[str, str | None]


async def handle(request: AlterClientQuotasRequest, context: Context) -> AlterClientQuotasResponse:
    context.require_on_cluster(Operation.ALTER_CONFIGS)
    entries: dict[QuotaEntity, list[Entry]] = {}
    for entry in request.entries:
        parts = {part.entity_type: part.entity_name for part in entry.entity}
        entries.setdefault(frozenset(parts.items()), []).append(entry)
    addresses = {name: await in_thread(partial(look_up, name)) for name in list(names_of(entries))}
    answers = []
    for entity, named in entries.items():
        answer = Answer(error_message=None, entity=[_part(kind, name) for kind, name in sorted(entity)])
        try:
            _change(entity, named, addresses, request.validate_only, context)
        except KafkaError as error:
            answer.error_code, answer.error_message = error.code, error.message
        answers.append(answer)
    if not request.validate_only:
        for broker in context.broker.brokers.values():
            broker.apply_quotas(addresses)
        context.controller.save()
    return AlterClientQuotasResponse(entries=answers)


def _part(kind: str, name: str | None) -> Answer.Entity:
    return Answer.Entity(entity_type=kind, entity_name=name)


def _change(
    entity: QuotaEntity, named: list[Entry], addresses: Addresses, validate_only: bool, context: Context
) -> None:
    ops = named[0].ops
    if not context.release.runs_without_zookeeper:  # duplicates are allowed; the last one wins
        ops = list({op.key: op for op in named[-1].ops}.values())
    elif len(named) > 1 or len({op.key for op in ops}) < len(ops):
        parts = ", ".join(f"{kind}={name}" for kind, name in sorted(entity))
        raise KafkaError(Code.INVALID_REQUEST, f"Ignoring duplicate entity ClientQuotaEntity(entries={{{parts}}})")
    check_entity(dict(entity), addresses, only_ipv4=context.release.limits_addresses_to_ipv4)
    kinds = [kind for kind, _ in entity]
    for op in ops:
        if not op.remove:
            rules = context.release
            check_value(
                kinds, op.key, op.value, or_zero=rules.accepts_quotas_of_0, in_range=not rules.accepts_any_quotas
            )
    if validate_only:
        return
    quotas: dict[QuotaEntity, dict[str, float]] = context.metadata.client_quotas
    values = dict(quotas.get(entity, {}))
    for op in ops:
        values.pop(op.key, None)
        if not op.remove:
            values[op.key] = op.value
    if values:
        quotas[entity] = values
    else:
        quotas.pop(entity, None)
