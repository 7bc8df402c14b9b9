"""Group properties (KIP-848, KIP-932, KIP-1071), the resource type GROUP of the configuration APIs.

A property that a group does not set has the value of the corresponding broker property:
`group.consumer.session.timeout.ms` for `consumer.session.timeout.ms`. Other broker properties limit the range of
allowed values. The metadata contains, as text, only the properties that are set, and only groups that set at least one
property.

Source: org.apache.kafka.coordinator.group.GroupConfig, GroupConfigManager; bounds and messages as observed with 4.4.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple, cast

from kafkalet.properties import (
    Check,
    Declaration,
    InvalidProperty,
    Property,
    Type,
    Value,
    Version,
    as_text,
    at_least,
    between,
    one_of,
    whole_number,
)
from kafkalet.protocol.errors import Code, KafkaError

from .broker_config import BrokerConfig
from .broker_properties import BROKER_PROPERTIES, READ_AS_GIVEN
from .catalog import known_property
from .dynamic import GROUP_KINDS
from .entries import UNKNOWN_TYPE, Entry, Source, SynonymEntry
from .without_effect import declarations

_DURATION = re.compile(
    r"([+-])?P(?=.)(?:([+-]?\d+)D)?(?:T(?=.)(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+(?:[.,]\d{0,9})?)S)?)?",
    re.IGNORECASE,
)
_DAY_MS = 24 * 3_600_000


def duration_ms(text: str) -> int | None:
    """Return a duration such as P1DT2H3M4.5S in milliseconds, or None if it is malformed (java.time.Duration.parse)."""
    found = _DURATION.fullmatch(text)
    if found is None:
        return None
    sign, days, hours, minutes, seconds = found.groups()
    milliseconds = int(days or 0) * _DAY_MS + int(hours or 0) * 3_600_000 + int(minutes or 0) * 60_000
    milliseconds += int(float((seconds or "0").replace(",", ".")) * 1000)
    return -milliseconds if sign == "-" else milliseconds


def _offset_reset(name: str, value: Value) -> None:
    """earliest, latest, or by_duration: followed by a duration such as PT1H."""
    kind, _, duration = str(value).partition(":")
    past_ms = duration_ms(duration) if kind == "by_duration" else None
    if value in ("earliest", "latest") or (past_ms is not None and past_ms >= 0):
        return
    raise InvalidProperty(
        name,
        str(value),
        f"Invalid value `{value}` for configuration {name}. The value must be either 'earliest', 'latest' or of the "
        "format 'by_duration:<PnDTnHnMn.nS>'.",
    )


class GroupProperty(NamedTuple):
    """A group property and the broker properties that provide its default and its bounds."""

    row: Declaration
    broker: str | None = None  # the broker property with the default
    least: str | None = None  # the broker property with the minimum
    most: str | None = None  # the broker property with the maximum

    @property
    def declared(self) -> Property:
        return self.row.declared


_BROKER_DEFAULTS = {
    row.name: row.declared.default for row in (*declarations(), *BROKER_PROPERTIES.values(), *READ_AS_GIVEN.values())
}
"""The defaults in the newest release, whose row is always the last row of a property."""


def _bounded(name: str, since: Version, check: Check, documentation: str = "") -> GroupProperty:
    """Declare a property with bounds. It is documented only if the corresponding broker property has an effect."""
    kind, _, rest = name.partition(".")
    prefix = f"group.{kind}."
    broker = prefix + rest
    affects = broker.replace(".", "_") if documentation else ""
    declared = Property(name, Type.INT, _BROKER_DEFAULTS[broker], check)
    row = Declaration(declared, documentation, affects, since=since)
    return GroupProperty(row, broker, f"{prefix}min.{rest}", f"{prefix}max.{rest}")


def _of_broker(
    name: str, type_: Type, documentation: str, check: Check | None = None, since: Version = (4, 2)
) -> GroupProperty:
    broker = f"group.{name}"
    declared = Property(name, type_, _BROKER_DEFAULTS[broker], check)
    return GroupProperty(Declaration(declared, documentation, broker.replace(".", "_"), since=since), broker)


def _own(
    name: str,
    type_: Type,
    default: str,
    since: Version,
    check: Check | None = None,
    broker: str | None = None,
    documentation: str = "",
) -> GroupProperty:
    affects = name.replace(".", "_") if documentation else ""
    return GroupProperty(
        Declaration(Property(name, type_, default, check), documentation, affects, since=since), broker
    )


# fmt: off
GROUP_PROPERTIES = (
    _bounded("consumer.session.timeout.ms", (4, 0), at_least(1),
        "Time without a heartbeat after which a member is removed from the group."),
    _bounded("consumer.heartbeat.interval.ms", (4, 0), at_least(1),
        "Heartbeat interval that the broker prescribes for members of the group."),
    _bounded("consumer.assignment.interval.ms", (4, 3), at_least(0),
        "Minimum time between two target assignments of the group."),
    _bounded("share.session.timeout.ms", (4, 0), at_least(1),
        "Time without a heartbeat after which a member is removed from the share group."),
    _bounded("share.heartbeat.interval.ms", (4, 0), at_least(1),
        "Heartbeat interval that the broker prescribes for members of the share group."),
    _bounded("share.record.lock.duration.ms", (4, 0), at_least(1000),
        "Time for which records are locked for the member that has acquired them."),
    _bounded("share.delivery.count.limit", (4, 3), at_least(2),
        "Maximum number of deliveries of a record to the share group."),
    _bounded("share.partition.max.record.locks", (4, 3), between(100, 10_000),
        "Maximum number of records of a partition that are in flight in the share group."),
    _bounded("share.assignment.interval.ms", (4, 3), at_least(0),
        "Minimum time between two target assignments of the share group."),
    _own("share.auto.offset.reset", Type.STRING, "latest", (4, 0), _offset_reset,
        documentation="Where a new share group begins to read."),
    _own("share.isolation.level", Type.STRING, "read_uncommitted", (4, 1),
        one_of("read_committed", "read_uncommitted"),
        documentation="Whether the share group gets records of open and aborted transactions."),
    _own("share.renew.acknowledge.enable", Type.BOOLEAN, "true", (4, 3),
        documentation="Allows members to renew the locks of their records."),
    _bounded("streams.session.timeout.ms", (4, 1), at_least(1),
        "Time without a heartbeat after which a member is removed from the streams group."),
    _bounded("streams.heartbeat.interval.ms", (4, 1), at_least(1),
        "Heartbeat interval that the broker prescribes for members of the streams group."),
    _bounded("streams.assignment.interval.ms", (4, 3), at_least(0),
        "Minimum time between two target assignments of the streams group."),
    _of_broker("streams.num.standby.replicas", Type.INT,
        "Number of standby tasks of each stateful task.", at_least(0), (4, 1))
        ._replace(most="group.streams.max.standby.replicas"),
    _of_broker("streams.initial.rebalance.delay.ms", Type.INT,
        "Time that the first rebalance of the new group waits for more members.", at_least(0)),
    _own("streams.assignor.name", Type.STRING, "sticky", (4, 4), broker="group.streams.assignors"),
    _of_broker("streams.rack.aware.assignment.tags", Type.LIST,
        "Client tags that members of the group have to set.", since=(4, 4)),
    _own("errors.deadletterqueue.topic.name", Type.STRING, "", (4, 4),
        documentation="Topic for the records that cannot be delivered to the share group."),
    _own("errors.deadletterqueue.copy.record.enable", Type.BOOLEAN, "false", (4, 4),
        documentation="Copies the keys and values of these records."),
)
# fmt: on


def properties_of_groups(version: Version) -> dict[str, GroupProperty]:
    """Return the group properties that exist in a release, keyed by name."""
    return {known.row.name: known for known in GROUP_PROPERTIES if known.row.in_release(version) is not None}


def check(texts: Mapping[str, str], config: BrokerConfig) -> None:
    """Raise KafkaError (INVALID_CONFIG) unless these are valid group properties on brokers with this configuration."""
    known = properties_of_groups(config.release.version)
    for name in texts:
        if name not in known:
            raise KafkaError(Code.INVALID_CONFIG, f"Unknown group config name: {name}")
    try:
        values = {name: known[name].declared.parse(text) for name, text in texts.items()}
    except InvalidProperty as error:
        raise KafkaError(Code.INVALID_CONFIG, str(error)) from error
    for name, value in values.items():
        if reason := _out_of_bounds(known[name], value, config):
            raise KafkaError(Code.INVALID_CONFIG, reason)
    for kind in GROUP_KINDS:
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if session in values or heartbeat in values:
            session_ms, heartbeat_ms = (
                cast(int, values[name]) if name in values else _broker_number(f"group.{name}", config)
                for name in (session, heartbeat)
            )
            if session_ms <= heartbeat_ms:
                raise KafkaError(Code.INVALID_CONFIG, f"{session} must be greater than {heartbeat}")


def _out_of_bounds(known: GroupProperty, value: Value, config: BrokerConfig) -> str | None:
    name = known.declared.name
    if known.least is not None and known.most is not None:
        least, most = _bounds(known, config)
        number = cast(int, value)
        if not least <= number <= most and config.release.returns_range_of_group_properties:
            return f"{name} must be in the range {least} to {most} inclusive."
        if number < least:
            return f"{name} must be greater than or equal to {known.least}"
        if number > most:
            return f"{name} must be less than or equal to {known.most}"
    elif known.most is not None:
        _, most = _bounds(known, config)
        if cast(int, value) > most:
            shown = most if config.release.returns_range_of_group_properties else known.most
            return f"{name} must be less than or equal to {shown}"
    elif name == "errors.deadletterqueue.topic.name":
        if str(value).startswith("__"):
            return f"{name}: DLQ topic name must not start with '__'"
    elif name == "streams.assignor.name":
        assignors = _broker_text("group.streams.assignors", config) or ""
        if value not in assignors.split(","):
            return (
                f"{name} '{value}' is not a registered task assignor. "
                f"Registered assignors are: [{', '.join(assignors.split(','))}]."
            )
    return None


def _bounds(known: GroupProperty, config: BrokerConfig) -> tuple[int, int]:
    return (
        0 if known.least is None else _broker_number(known.least, config),
        (1 << 31) - 1 if known.most is None else _broker_number(known.most, config),
    )


def effective_number(own: Mapping[str, str], name: str, default: int, config: BrokerConfig) -> int:
    """Return the number that applies to a group with these properties; `default` is that of the broker.

    The bounds on the broker may have changed since the group's number was set (GroupConfig.evaluate).
    """
    number = whole_number(own[name].strip()) if name in own else None
    if number is None:
        return default
    if not config.release.bounds_numbers_of_groups:
        return number
    least, most = _bounds(next(known for known in GROUP_PROPERTIES if known.row.name == name), config)
    return max(least, min(number, most))


def group_entries(texts: Mapping[str, str], config: BrokerConfig) -> Iterator[Entry]:
    """Yield the entries that DescribeConfigs returns for a group with these properties."""
    for name, known in properties_of_groups(config.release.version).items():
        synonyms = _broker_synonyms(known, config)
        if not config.release.inherits_group_properties:
            synonyms = [] if name in texts else [SynonymEntry(name, _default(known, config), Source.DEFAULT)]
        if name in texts:
            synonyms.insert(0, SynonymEntry(name, as_text(known.declared.parse(texts[name])), Source.GROUP))
        type_ = known.declared.type.value or UNKNOWN_TYPE
        yield Entry(name, synonyms[0].value, synonyms[0].source, type_, False, False, synonyms)


def _default(known: GroupProperty, config: BrokerConfig) -> str:
    text = None if known.broker is None else _broker_text(known.broker, config)
    if known.declared.name == "streams.assignor.name":
        text = (text or "").partition(",")[0]  # the first assignor is the default
    return text if text is not None else known.declared.default or ""


def _broker_synonyms(known: GroupProperty, config: BrokerConfig) -> list[SynonymEntry]:
    """Return the values of the corresponding broker property at all levels, in the order of precedence."""
    levels = ((Source.PER_BROKER, config.per_broker), (Source.CLUSTER_WIDE, config.cluster_wide))
    if known.broker is None:
        return [SynonymEntry(known.declared.name, _default(known, config), Source.DEFAULT)]
    name = known.broker
    found = [
        SynonymEntry(name, given[name], source)
        for source, given in (*levels, (Source.STATIC, config.static))
        if name in given
    ]
    if not found:
        return [SynonymEntry(name, _default(known, config), Source.DEFAULT)]
    found[0] = found[0]._replace(value=_default(known, config))
    property_ = known_property(name, config.release.version)
    default = None if property_ is None else property_.declared.default
    return found if default is None else [*found, SynonymEntry(name, default, Source.DEFAULT)]


def _broker_text(name: str, config: BrokerConfig) -> str | None:
    known = known_property(name, config.release.version)
    return config.given().get(name, None if known is None else known.declared.default)


def _broker_number(name: str, config: BrokerConfig) -> int:
    return whole_number((_broker_text(name, config) or "0").strip()) or 0
