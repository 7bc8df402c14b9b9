"""Tests of `LogConfig`, which is parsed from topic properties."""

import pytest

from kafkalet.properties import InvalidProperty
from kafkalet.storage.config import LogConfig, LogRules, UnknownProperty, record_version
from kafkalet.storage.topic_properties import HOUR_MS, MAX_LONG, topic_properties

OLD = LogRules((2, 8), lifts_unstable_to_log_start=True, honors_message_format=True)
LAST_3 = LogRules((3, 9), lifts_unstable_to_log_start=True)


def test_config_without_properties_has_kafkas_defaults() -> None:
    assert LogConfig.of({}) == LogConfig()


@pytest.mark.parametrize("rules", [OLD, LAST_3, LogRules()], ids=["2.8", "3.9", "4.4"])
def test_every_property_accepts_its_default(rules: LogRules) -> None:
    texts = {p.name: p.default for p in topic_properties(rules.version) if p.default is not None}
    assert LogConfig.of(texts, rules) == LogConfig.of({}, rules)


def test_given_properties_are_parsed() -> None:
    config = LogConfig.of({"retention.ms": "1000", "cleanup.policy": "compact, delete"})
    assert config.retention_ms == 1000
    assert config.cleanup_policy == {"compact", "delete"}
    assert config.is_compacted
    assert config.deletes_old_segments


def test_unknown_property_is_refused_with_kafkas_message() -> None:
    with pytest.raises(UnknownProperty, match=r"^Unknown topic config name: retention\.mss$"):
        LogConfig.of({"retention.mss": "1000"})


def test_compaction_lags_must_not_contradict_each_other() -> None:
    with pytest.raises(InvalidProperty, match=r"min\.compaction\.lag\.ms.*conflict"):
        LogConfig.of({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "9"})
    assert LogConfig.of({"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "9"}).max_compaction_lag_ms == 9


def test_internal_segment_bytes_may_be_below_the_minimum_of_segment_bytes() -> None:
    with pytest.raises(InvalidProperty, match="at least 1048576"):
        LogConfig.of({"segment.bytes": "100"})
    assert LogConfig.of({"segment.bytes": "1048576", "internal.segment.bytes": "100"}).segment_bytes == 100
    assert LogConfig.of({"segment.bytes": "100"}, LAST_3).segment_bytes == 100


def test_future_timestamps_are_limited_by_default_since_4_0() -> None:
    assert LogConfig.of({}).message_timestamp_after_max_ms == HOUR_MS
    assert LogConfig.of({}, LAST_3).message_timestamp_after_max_ms == MAX_LONG


def test_timestamp_difference_max_sets_both_limits_unless_given() -> None:
    config = LogConfig.of({"message.timestamp.difference.max.ms": "7", "message.timestamp.after.max.ms": "9"}, LAST_3)
    assert config.message_timestamp_before_max_ms == 7
    assert config.message_timestamp_after_max_ms == 9


@pytest.mark.parametrize(
    ("format_version", "version"),
    [("0.8.2", 0), ("0.9.0", 0), ("0.10.0", 1), ("0.10.2-IV0", 1), ("0.11.0", 2), ("1.0", 2), ("2.8-IV1", 2)],
)
def test_the_format_on_disk_follows_message_format_version(format_version: str, version: int) -> None:
    assert record_version(format_version) == version
    assert LogConfig.of({"message.format.version": format_version}, OLD).record_version == version


def test_default_format_on_disk_is_that_of_the_release() -> None:
    assert LogConfig.of({}, LogRules((0, 9), honors_message_format=True)).record_version == 0
    assert LogConfig.of({}, LogRules((0, 10, 1), honors_message_format=True)).record_version == 1
    assert LogConfig.of({}, OLD).record_version == 2


def test_message_format_version_is_accepted_and_ignored_from_3_0_on() -> None:
    assert LogConfig.of({"message.format.version": "0.9.0"}, LAST_3).record_version == 2
    with pytest.raises(UnknownProperty):
        LogConfig.of({"message.format.version": "0.9.0"})


def test_config_contains_the_rules_of_the_release() -> None:
    assert LogConfig.of({}, LAST_3).lifts_unstable_to_log_start
    assert not LogConfig.of({}).lifts_unstable_to_log_start


def test_a_compacted_log_also_rolls_by_its_compaction_lag() -> None:
    compacted = LogConfig(cleanup_policy=frozenset({"compact"}), max_compaction_lag_ms=500, segment_ms=1000)
    assert compacted.max_segment_ms == 500
    assert compacted._replace(segment_ms=100).max_segment_ms == 100
    assert compacted._replace(cleanup_policy=frozenset({"delete"})).max_segment_ms == 1000


def test_jitter_is_random_and_less_than_segment_ms() -> None:
    assert LogConfig().draw_jitter_ms() == 0
    seen = {LogConfig(segment_jitter_ms=10).draw_jitter_ms() for _ in range(300)}
    assert len(seen) > 5
    assert seen <= set(range(10))
    assert {LogConfig(segment_jitter_ms=10, segment_ms=2).draw_jitter_ms() for _ in range(100)} == {0, 1}


def test_segment_jitter_is_less_than_its_maximum_and_segment_ms() -> None:
    config = LogConfig(segment_jitter_ms=5, segment_ms=3)
    assert {config.draw_jitter_ms() for _ in range(200)} == {0, 1, 2}
    assert LogConfig().draw_jitter_ms() == 0
