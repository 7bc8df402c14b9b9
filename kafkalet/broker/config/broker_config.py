"""The configuration of a broker: the effective value of each property, and the defaults for topics.

A property can be set at four levels. The first of these levels that has a value wins; DescribeConfigs returns the
values of all levels.

    per broker      set for this broker at runtime, with AlterConfigs or IncrementalAlterConfigs
    cluster-wide    set for all brokers at runtime, with the same APIs and an empty broker name
    static          set at startup, with --set, --config or in Python
    default         Kafka's default

The properties are declared in `broker_properties.py`.
"""

import copy
import logging
from collections.abc import Mapping
from typing import cast

from kafkalet.broker.quoting import quoted
from kafkalet.properties import InvalidProperty, Property, Value, as_text, whole_number
from kafkalet.storage.config import LogConfig, check_tiers
from kafkalet.storage.topic_properties import topic_properties
from kafkalet.units import counted

from .broker_properties import (
    BROKER_PROPERTIES,
    DEFAULT_VALUES,
    MAX_INT,
    READ_AS_GIVEN,
    SYNONYMS,
    BrokerProperties,
    topic_defaults_of,
)
from .connection_overrides import check_together
from .release import Release

_LOG = logging.getLogger(__name__)

VOTERS = "controller.quorum.voters"
NODE_IDS = ("node.id", "broker.id")
"""The property with the broker id, in KRaft releases and with ZooKeeper. kafkalet always accepts both names."""
DEFAULT_NODE_ID = 1


class BrokerConfig(BrokerProperties):
    """The configuration of one broker. The constructor raises InvalidProperty for an invalid value.

    Runtime changes take effect immediately: the attributes always have the current values.
    """

    def __init__(self, static: Mapping[str, str] | None = None, release: Release | None = None) -> None:
        self.release = release or Release.of()
        self.static = dict(static or {})
        self.cluster_wide: Mapping[str, str] = {}
        self.per_broker: Mapping[str, str] = {}
        # Static properties that have no effect in kafkalet, and names that are not properties of Kafka.
        self.without_effect: list[str] = []
        self.unknown: list[str] = []
        for name in self.static:
            if self.property(name) is None:
                self._note(name)
        self._apply()

    def for_broker(self, own: Mapping[str, str] | None = None) -> "BrokerConfig":
        """Return a copy that can be reconfigured independently. `own` are additional static properties."""
        other = copy.copy(self)
        if own:
            other.static = {**self.static, **own}
            other._apply()
        return other

    def _note(self, name: str) -> None:
        if (row := READ_AS_GIVEN.get(name)) is not None:
            if (declared := row.in_release(self.release.version)) is not None:
                declared.parse(self.static[name])
            return
        prefixes = ("remote.log.storage.manager.impl.prefix", "remote.log.metadata.manager.impl.prefix")
        if name.startswith(
            tuple(self.static.get(each) or str(BROKER_PROPERTIES[each].declared.default) for each in prefixes)
        ):
            return
        from .catalog import catalog, has_effect, known_property

        known = known_property(name, self.release.version)
        if known is not None:
            known.declared.parse(self.static[name])
        if has_effect(name, self.release.version):
            return
        if known is None:
            self.unknown.append(name)
            from kafkalet.suggestions import did_you_mean

            hint = did_you_mean(name, catalog(self.release.version), shown=str)
            _LOG.warning(
                "ignoring property %s, which Kafka %s does not have%s",
                quoted(name),
                self.release.name,
                f"; {hint}" if hint else "",
            )
        else:
            self.without_effect.append(name)
            _LOG.info("property %s has no effect in kafkalet", quoted(name))

    def reconfigure(self, cluster_wide: Mapping[str, str], per_broker: Mapping[str, str]) -> None:
        """Replace the properties that are set at runtime.

        If one of the new properties is invalid, raises InvalidProperty and keeps the old ones.
        """
        before = self.cluster_wide, self.per_broker
        self.cluster_wide, self.per_broker = cluster_wide, per_broker
        try:
            self._apply()
        except InvalidProperty:
            self.cluster_wide, self.per_broker = before
            raise

    def cluster_wide_at_first(self) -> dict[str, str]:
        """Return the cluster-wide properties that a new cluster starts with."""
        if not self.release.sets_min_isr_cluster_wide:
            return {}
        return {"min.insync.replicas": self.static.get("min.insync.replicas", "1")}

    def voters(self, first_node_id: int) -> list[int]:
        """Return the ids in `controller.quorum.voters`, or that of the first broker. The first one is the controller.

        Raises InvalidProperty.
        """
        found = []
        for voter in filter(None, map(str.strip, self.static.get(VOTERS, "").split(","))):
            text, at, _ = voter.partition("@")
            node_id = whole_number(text)
            if not at or node_id is None or node_id < 0:
                raise InvalidProperty(VOTERS, voter, "expected ID@HOST:PORT, as in 3000@localhost:9093")
            found.append(node_id)
        return found or [first_node_id]

    def first_node_id(self, brokers: int = 1) -> int:
        """Return the lowest id in a cluster of `brokers` brokers: node.id, broker.id or 1. Raises InvalidProperty."""
        ids = set()
        for name in NODE_IDS:
            if (text := self.static.get(name)) is not None:
                node_id = whole_number(text.strip())
                if node_id is None or not 0 <= node_id <= MAX_INT - brokers + 1:
                    number = counted(brokers, "id")
                    reason = f"a cluster has {number}, counted from this one, which must be between 0 and {MAX_INT}"
                    raise InvalidProperty(name, text, reason)
                ids.add(node_id)
        if len(ids) > 1:
            text = "You must set `node.id` to the same value as `broker.id`."
            raise InvalidProperty("node.id", self.static["node.id"], text, text)
        return ids.pop() if ids else DEFAULT_NODE_ID

    def given(self) -> dict[str, str]:
        """Return every property that is set at any level, with its effective value."""
        return {**self.static, **self.cluster_wide, **self.per_broker}

    def property(self, name: str) -> Property | None:
        """Return the property with this name, or None if the property has no effect."""
        row = BROKER_PROPERTIES.get(name) or topic_defaults_of(self.release.version).get(name)
        return None if row is None else row.declared

    def _apply(self) -> None:
        given = self.given()
        values: dict[str, Value] = {}
        for name, value in given.items():
            property_ = self.property(name)
            if property_ is not None:
                values[name] = property_.parse(value)
        check_together(values)
        self._topic_defaults = _topic_defaults(values, self.release.version)
        self._default_log_config: LogConfig | None = None
        own = {BROKER_PROPERTIES[name].affects: value for name, value in values.items() if name in BROKER_PROPERTIES}
        for attribute, default in DEFAULT_VALUES.items():
            setattr(self, attribute, own.get(attribute, default))

    def topic_defaults(self) -> Mapping[str, str]:
        """Return the topic defaults that broker properties set, keyed by topic property."""
        return self._topic_defaults

    def log_config(self, topic: Mapping[str, str]) -> LogConfig:
        """Return the log configuration of a topic with these properties. Raises InvalidProperty."""
        if topic:
            return LogConfig.of({**self._topic_defaults, **topic}, self.release.log_rules)
        if self._default_log_config is None:
            self._default_log_config = LogConfig.of(self._topic_defaults, self.release.log_rules)
        return self._default_log_config


def check_tiers_of(before: Mapping[str, str], texts: Mapping[str, str], config: BrokerConfig) -> None:
    """Raise InvalidProperty if these properties of a topic, which had others `before`, are invalid or contradictory."""
    checked = config.log_config(texts)
    if config.release.has_tiered_storage:
        was_tiered = before.get("remote.storage.enable") == "true"
        check_tiers(checked, is_possible=config.remote_log_storage_system_enable, was_tiered=was_tiered)


def _topic_defaults(values: Mapping[str, Value], version: tuple[int, ...]) -> dict[str, str]:
    defaults: dict[str, str] = {}
    for name, synonyms in SYNONYMS.items() if values else ():
        given = next((synonym for synonym in synonyms if synonym.name in values), None)
        if given is not None and name in topic_properties(version):
            value = values[given.name]
            if given.least is not None:
                value = max(cast(int, value) * given.factor, given.least)
            defaults[name] = as_text(value)
    _refuse(("0",), "retention.ms", "must be unlimited (-1) or, greater than or equal to 1", values, defaults)
    _refuse(("-1", "0"), "segment.ms", "must be greater than or equal to 1", values, defaults)
    _refuse(("-1",), "segment.jitter.ms", "must be greater than or equal to 0", values, defaults)
    return defaults


def _refuse(
    refused: tuple[str, ...],
    topic_property: str,
    rule: str,
    values: Mapping[str, Value],
    defaults: Mapping[str, str],
) -> None:
    """Raise InvalidProperty if a broker property that sets a topic default has a value that KafkaConfig refuses."""
    if defaults.get(topic_property) in refused:
        name = next(synonym.name for synonym in SYNONYMS[topic_property] if synonym.name in values)
        raise InvalidProperty(name, as_text(values[name]), rule, f"requirement failed: {name} {rule}")
