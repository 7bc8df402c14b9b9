"""Correct and wrong responses of a broker, with constant or moving bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet_spark.audit.comparing import Comparison, ExpectedPartition, compare
from kafkalet_spark.audit.expected_lookups import Answers, LogPlace
from kafkalet_spark.live.lookups import EARLIEST, LATEST, MAX_TIMESTAMP, Found, Lookup
from kafkalet_spark.live.refusals import PartitionRefused

NONE = Found(-1, -1, -1)
QUERIES = {10: (3, 10), 20: (7, 25), 30: (-1, -1)}
"""Timestamps, with the offset and timestamp expected for each. The largest is (7, 25), the log end is 9."""


class Scripted:
    """A broker with scripted responses. Bounds are (log start, last stable, high watermark) before and after."""

    def __init__(self, bounds: list[tuple[int, int, int]], answers: dict[tuple[int, str], Found | None]) -> None:
        self.bounds = bounds
        self.answers = answers
        self.asked_for_bounds = 0

    def topics(self, *, internal: bool) -> dict[str, int]:
        return {"t": 1}

    def look_up(self, lookups: list[Lookup], level: str) -> list[Any]:
        return [self._answer(lookup.timestamp, level) for lookup in lookups]

    def _answer(self, timestamp: int, level: str) -> Any:
        start, stable, high = self.bounds[min(self.asked_for_bounds // 3, len(self.bounds) - 1)]
        if timestamp in (EARLIEST, LATEST):
            self.asked_for_bounds += 1
            offset = start if timestamp == EARLIEST else stable if level == "read_committed" else high
            return Found(offset, -1, 0)
        if (timestamp, level) in self.answers:
            if (result := self.answers[timestamp, level]) is None:
                if timestamp == MAX_TIMESTAMP:
                    raise KafkaError(Code.UNSUPPORTED_VERSION, "too old")
                return PartitionRefused(Code.UNSUPPORTED_FOR_MESSAGE_FORMAT, "t", 0, "ListOffsets of")
            return result
        offset, at = QUERIES.get(timestamp, (7, 25))
        bound = stable if level == "read_committed" else high
        return Found(offset, at, 0) if 0 <= offset < bound else NONE


def asked(
    answers: dict[tuple[int, str], Found | None] | None = None,
    *bounds: tuple[int, int, int],
    stable: int = 9,
) -> tuple[Any, list[str]]:
    found = np.array([[offset, at, 0 if offset >= 0 else -1] for offset, at in QUERIES.values()]).T
    expected = ExpectedPartition(
        "t", 0, "/t-0", 0, 0, 9, stable, np.array(list(QUERIES)), Answers(found, LogPlace(7, 25, 0))
    )
    broker: Any = Scripted(list(bounds) or [(0, stable, 9)], answers or {})
    compared = compare(broker, expected)
    return compared, [finding.message for finding in compared.findings.found]


def test_correct_responses_agree() -> None:
    compared, messages = asked()
    assert messages == []
    assert compared.lookups == 2 * 4


def test_open_transaction_hides_later_records_under_read_committed() -> None:
    assert asked(None, (0, 5, 9), stable=5)[1] == []
    compared, messages = asked({(20, "read_committed"): Found(7, 25, 0)}, (0, 5, 9), stable=5)
    assert messages == [
        "for timestamp 20 under read_committed, the broker returns offset 7 (timestamp 25, leader epoch 0);"
        " according to the batches: offset 7 (timestamp 25, leader epoch 0), which read_committed hides"
    ]
    assert compared.findings.found[0].offset == 7


@pytest.mark.parametrize("wrong", [Found(6, 25, 0), Found(7, 24, 0), Found(7, 25, 3), NONE])
@pytest.mark.parametrize("timestamp", [20, MAX_TIMESTAMP])
def test_a_wrong_response_is_found(timestamp: int, wrong: Found) -> None:
    (message,) = asked({(timestamp, "read_uncommitted"): wrong})[1]
    assert "according to the batches: offset 7 (timestamp 25" in message
    assert ("the largest timestamp" if timestamp == MAX_TIMESTAMP else "timestamp 20") in message


def test_unexpected_response_is_found() -> None:
    (message,) = asked({(30, "read_uncommitted"): Found(8, 30, 0)})[1]
    assert message.endswith("according to the batches: nothing")


def test_response_without_leader_epoch_is_accepted() -> None:
    assert asked({(20, "read_uncommitted"): Found(7, 25, -1)})[1] == []


def test_wrong_last_stable_offset_is_found() -> None:
    (message,) = asked(None, (0, 4, 9), stable=9)[1][:1]
    assert message == "under read_committed, the broker's log ends at 4, but according to the batches at 9"


def test_appends_during_the_audit_are_not_disagreements() -> None:
    moving = ((0, 9, 9), (0, 12, 12))
    assert asked({(30, "read_uncommitted"): Found(10, 30, 0)}, *moving)[1] == []
    assert asked({(MAX_TIMESTAMP, "read_uncommitted"): Found(11, 40, 0)}, *moving)[1] == []
    assert asked({(MAX_TIMESTAMP, "read_committed"): NONE}, *moving)[1] == []
    assert len(asked({(20, "read_uncommitted"): Found(11, 40, 0)}, *moving)[1]) == 1
    assert len(asked({(20, "read_uncommitted"): NONE}, *moving)[1]) == 1


def test_both_responses_are_accepted_while_the_last_stable_offset_moves() -> None:
    moving = ((0, 5, 9), (0, 9, 9))
    for result in (Found(7, 25, 0), NONE):
        assert asked({(20, "read_committed"): result}, *moving)[1] == []


def test_nothing_is_compared_if_the_log_start_moves() -> None:
    compared, messages = asked({(20, "read_uncommitted"): NONE}, (0, 9, 9), (4, 9, 9))
    assert (compared.not_compared, compared.lookups, messages) == ("the log start offset moved", 0, [])


def test_last_stable_offset_may_be_raised_to_the_log_start() -> None:
    """Kafka 3 does so if a transaction began below it."""
    found = np.full((3, 0), -1)
    expected = ExpectedPartition("t", 0, "/t-0", 0, 4, 9, 2, np.array([], np.int64), Answers(found, LogPlace(7, 25, 0)))
    for stable in (2, 4):
        broker: Any = Scripted([(4, stable, 9)], {(MAX_TIMESTAMP, "read_committed"): NONE})
        assert compare(broker, expected).findings.total == 0


def test_broker_without_max_timestamp_lookups_is_accepted() -> None:
    compared, messages = asked({(MAX_TIMESTAMP, level): None for level in ("read_committed", "read_uncommitted")})
    assert messages == []
    assert compared.lookups == 2 * 3


def test_error_of_the_broker_is_reported() -> None:
    compared, messages = asked({(10, "read_uncommitted"): None})
    assert messages == []
    assert "UNSUPPORTED_FOR_MESSAGE_FORMAT" in compared.is_refused or "ListOffsets of t-0" in compared.is_refused


def test_log_start_below_the_first_segment_is_found() -> None:
    nothing = Answers(np.full((3, 0), -1), LogPlace(7, 25, 0))
    expected = ExpectedPartition("t", 0, "/t-0", 3, 2, 9, 9, np.array([], np.int64), nothing)
    broker: Any = Scripted([(2, 9, 9)], {})
    (finding,) = compare(broker, expected).findings.found
    assert finding.message == "the broker's log starts at 2, but the segments contain 3 to 9"


def test_comparison_is_summarized_in_one_line() -> None:
    result = str(Comparison("b:1", 1200, 0, ("t-0 (moved)",), ("no",)))
    assert result.startswith("compared 1,200 lookups with b:1: 0 disagreements; not compared: t-0 (moved)")
    assert result.endswith("broker errors: no")
