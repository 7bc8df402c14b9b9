"""Tests of the checks of fetched records on a follower; test_log.py covers the append."""

import pytest

from kafkalet.storage.replicated import UnexpectedOffset, accept_replicated
from kafkalet.storage.validation import NOTHING

from .place import with_epoch
from .producing import T0, logged, message_set


def test_entries_are_accepted_unchanged() -> None:
    sent = with_epoch(logged(5, 2, ts=T0 + 9), 3) + with_epoch(logged(8, 1, ts=T0 + 9), 3)
    accepted = accept_replicated(sent, 5, "t-0")
    assert bytes(accepted.records) == sent
    assert (accepted.first_offset, accepted.last_offset) == (5, 8)
    assert (accepted.max_timestamp, accepted.offset_of_max_timestamp) == (T0 + 9, 6)
    assert accepted.log_append_time_ms == -1


def test_empty_records_are_accepted() -> None:
    assert accept_replicated(b"", 5, "t-0") is NOTHING
    assert accept_replicated(with_epoch(logged(5), 0)[:-1], 5, "t-0") is NOTHING


def test_first_offset_of_old_formats_is_unknown() -> None:
    accepted = accept_replicated(message_set(1, 1, 4), 0, "t-0")
    assert (accepted.first_offset, accepted.last_offset) == (-1, 1)


def test_last_offset_of_the_first_entry_is_checked_for_old_formats() -> None:
    with pytest.raises(UnexpectedOffset, match="offset 0 for t-0, but the log end offset is 1"):
        accept_replicated(message_set(1, 1, 4), 1, "t-0")


def test_entry_below_the_log_end_is_refused() -> None:
    with pytest.raises(UnexpectedOffset, match="offset 5 for t-0, but the log end offset is 6"):
        accept_replicated(with_epoch(logged(5, 3), 0), 6, "t-0")
