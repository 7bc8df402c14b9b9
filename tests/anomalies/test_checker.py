"""Each anomaly is found in a history that has it, and in no other."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .checker import Log, anomalies
from .history import History

CLEAN = [
    ["send", 1, "a", 0, "p1", None],
    ["send", 2, "b", 0, "p1", None],
    ["send", 3, "c", 0, "p1", "x1"],
    ["send", 4, "d", 1, "p1", "x1"],
    ["send", 5, "e", 1, "p1", "x2"],
    ["acked", 6, "a", 0],
    ["acked", 6, "b", 1],
    ["commit", 7, "x1"],
    ["committed", 8, "x1"],
    ["poll", 9, "c1", 0, 0, "a"],
    ["poll", 9, "c1", 0, 1, "b"],
    ["poll", 9, "c1", 0, 2, "c"],
    ["member", 9, 0, 0, "a"],
    ["member", 9, 0, 1, "b"],
    ["member", 9, 0, 2, "c"],
    ["member", 9, 1, 0, "d"],
    ["log", 9, "closed"],
]
LOG: Log = {0: [(0, "a"), (1, "b"), (2, "c")], 1: [(0, "d")]}


def kinds(events: list[list[Any]], log: Log) -> set[str]:
    history = History()
    history.read("client", map(json.dumps, events))
    return {anomaly.kind for anomaly in anomalies(history, log)}


def without(*events: list[Any]) -> list[list[Any]]:
    assert all(event in CLEAN for event in events)
    return [event for event in CLEAN if event not in events]


def test_history_without_an_anomaly_has_none() -> None:
    assert kinds(CLEAN, LOG) == set()


def test_lost_acknowledged_record() -> None:
    events = [["send", 1, "z", 1, "p2", None], ["acked", 2, "z", 9], *CLEAN]
    assert kinds(events, LOG) == {"lost"}


def test_lost_record_of_a_committed_transaction_also_tears_it() -> None:
    events = without(["member", 9, 1, 0, "d"])
    assert kinds(events, LOG | {1: []}) == {"lost", "torn-transaction"}


def test_record_that_was_received_and_is_gone_has_vanished() -> None:
    assert kinds([["send", 1, "z", 1, "p2", None], *CLEAN, ["poll", 9, "c1", 1, 9, "z"]], LOG) == {"vanished"}


def test_record_that_is_stored_twice() -> None:
    assert kinds([*CLEAN, ["member", 9, 1, 1, "d"]], LOG | {1: [(0, "d"), (1, "d")]}) == {"duplicate"}


def test_offset_with_two_records() -> None:
    events = [["send", 1, "z", 1, "p2", None], *CLEAN, ["member", 9, 1, 1, "z"], ["poll", 9, "c1", 1, 0, "z"]]
    assert kinds(events, LOG | {1: [(0, "d"), (1, "z")]}) == {"inconsistent-offset"}


def test_offset_that_was_acknowledged_for_another_record() -> None:
    events = [["send", 1, "z", 1, "p2", None], ["acked", 2, "z", 0], *CLEAN, ["member", 9, 1, 1, "z"]]
    assert kinds(events, LOG | {1: [(0, "d"), (1, "z")]}) == {"inconsistent-offset"}


def test_record_of_an_aborted_transaction_was_received() -> None:
    log = LOG | {1: [(0, "d"), (1, "e")]}
    assert kinds([*CLEAN, ["member", 9, 1, 1, "e"]], log) == {"aborted-read"}


def test_record_was_received_before_its_commit() -> None:
    assert kinds([*CLEAN, ["poll", 6, "c2", 1, 0, "d"]], LOG) == {"precommitted-read"}


def test_unknown_outcome_of_a_commit_tears_no_transaction_that_is_complete() -> None:
    assert kinds(without(["committed", 8, "x1"]), LOG) == set()


def test_unknown_outcome_of_a_commit_is_no_excuse_for_half_a_transaction() -> None:
    events = without(["committed", 8, "x1"], ["member", 9, 1, 0, "d"])
    assert kinds(events, LOG | {1: []}) == {"torn-transaction"}


def test_record_that_no_client_has_sent() -> None:
    assert kinds([*CLEAN, ["member", 9, 1, 1, "z"]], LOG | {1: [(0, "d"), (1, "z")]}) == {"unsent-read"}


def test_records_of_a_producer_in_the_wrong_order() -> None:
    events = [["send", 1, "y", 1, "p2", None], ["send", 1, "z", 1, "p2", None], *CLEAN]
    events += [["member", 9, 1, 1, "z"], ["member", 9, 1, 2, "y"]]
    assert kinds(events, LOG | {1: [(0, "d"), (1, "z"), (2, "y")]}) == {"nonmonotonic-send"}


def test_records_of_two_producers_have_no_order() -> None:
    events = [["send", 1, "y", 1, "p2", None], ["send", 1, "z", 1, "p3", None], *CLEAN]
    events += [["member", 9, 1, 1, "z"], ["member", 9, 1, 2, "y"]]
    assert kinds(events, LOG | {1: [(0, "d"), (1, "z"), (2, "y")]}) == set()


def test_consumer_goes_back() -> None:
    assert kinds([*CLEAN, ["poll", 9, "c1", 0, 1, "b"]], LOG) == {"nonmonotonic-poll"}


def test_new_consumer_may_begin_again() -> None:
    assert kinds([*CLEAN, ["poll", 9, "c2", 0, 0, "a"]], LOG) == set()


def test_consumer_skips_a_record() -> None:
    assert kinds(without(["poll", 9, "c1", 0, 1, "b"]), LOG) == {"skipped"}


def test_consumer_skips_offsets_without_records() -> None:
    events = without(["poll", 9, "c1", 0, 1, "b"], ["acked", 6, "b", 1], ["member", 9, 0, 1, "b"])
    assert kinds(events, LOG | {0: [(0, "a"), (2, "c")]}) == set()


def test_group_has_not_received_a_record() -> None:
    assert kinds(without(["member", 9, 0, 1, "b"]), LOG) == {"unseen"}


def test_client_that_sends_a_value_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="sends a twice"):
        kinds([CLEAN[0], CLEAN[0]], {})


def test_unknown_event_is_refused() -> None:
    with pytest.raises(ValueError, match="reports"):
        kinds([["sent", 1]], {})


@given(st.data())
def test_what_one_producer_sends_and_all_receive_has_no_anomaly(data: st.DataObject) -> None:
    """A log is written by one producer in transactions, of which some are aborted, and read by two consumers."""
    events: list[list[Any]] = []
    log: Log = {0: [], 1: []}
    ends = [0, 0]
    for number in range(data.draw(st.integers(0, 8))):
        transaction = data.draw(st.sampled_from([None, f"x{number}"]))
        is_aborted = transaction is not None and data.draw(st.booleans())
        for at, partition in enumerate(data.draw(st.lists(st.integers(0, 1), max_size=3))):
            value = f"{number}-{at}"
            events += [["send", 0, value, partition, "p", transaction], ["acked", 0, value, ends[partition]]]
            if not is_aborted:
                log[partition].append((ends[partition], value))
            ends[partition] += 1
        if transaction is not None:
            ends = [end + 1 for end in ends]  # the marker
            events += [] if is_aborted else [["commit", 0, transaction], ["committed", 0, transaction]]
    for partition, records in log.items():
        for offset, value in records:
            events += [["poll", 1, "c", partition, offset, value], ["member", 1, partition, offset, value]]
    assert kinds(events, log) == set()
