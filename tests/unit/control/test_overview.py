"""Tests of the overview that `kafkalet top` shows: its state and its text."""

from typing import Any

import pytest

from kafkalet.control.overview import (
    BOLD,
    RED,
    Line,
    Span,
    State,
    View,
    clipped,
    duration,
    fit,
    painted,
    plain,
    size,
    wide,
)


def partition(index: int = 0, offsets: tuple[Any, ...] = (0, 10, 10, 10), **fields: Any) -> dict[str, Any]:
    start, stable, high, end = offsets
    return {
        "partition": index,
        "leader": 1,
        "leader_epoch": 0,
        "replicas": [1],
        "isr": [1],
        "log_start_offset": start,
        "last_stable_offset": stable,
        "high_watermark": high,
        "log_end_offset": end,
        "size_bytes": 1234,
        **fields,
    }


def topic(name: str, *partitions: dict[str, Any], is_internal: bool = False) -> dict[str, Any]:
    return {"name": name, "is_internal": is_internal, "partitions": list(partitions)}


def request(text: str = "client=c Fetch v1 -> ok", **fields: Any) -> dict[str, Any]:
    return {"api": "Fetch", "text": text, "time_ms": 0, "errors": [], "closed": None, **fields}


def state_of(*topics: dict[str, Any], **items: list[Any]) -> State:
    """Return a state after the first events."""
    state = State()
    state.connected(0.0)
    state.apply("topics", {"topics": list(topics), "removed": []}, 0.0)
    for kind, found in items.items():
        state.apply(kind, {kind: found, "removed": []}, 0.0)
    return state


def shown(state: State, width: int = 120, rows: int | None = None, *, unicode: bool = True) -> list[str]:
    return [painted(line, color=False) for line in View(state, width, rows, unicode=unicode).lines(0.0)]


def row(state: State, name: str, **options: Any) -> str:
    return next(line for line in shown(state, **options) if line.startswith(name))


# The state


def test_event_changes_and_removes_items() -> None:
    state = state_of(topic("a"), topic("b"))
    state.apply("topics", {"topics": [topic("b", partition())], "removed": ["a"]}, 1.0)
    assert [(each["name"], len(each["partitions"])) for each in state.sorted("topics")] == [("b", 1)]


def test_first_event_of_a_new_stream_replaces_everything() -> None:
    state = state_of(topic("a"))
    state.apply("requests", {"requests": [request()], "skipped": 0}, 0.0)
    state.connected(5.0)
    state.apply("topics", {"topics": [topic("b")], "removed": []}, 5.0)
    state.apply("requests", {"requests": [], "skipped": 0}, 5.0)
    assert [each["name"] for each in state.sorted("topics")] == ["b"]
    assert not state.requests


def test_unknown_event_is_ignored() -> None:
    state = state_of(topic("a"))
    state.apply("weather", {"topics": [topic("b")], "removed": []}, 0.0)
    assert [each["name"] for each in state.sorted("topics")] == ["a"]


def test_rates_are_averages_of_the_last_seconds() -> None:
    state = state_of()
    state.apply("requests", {"requests": [request()] * 50, "skipped": 0}, 0.0)  # from before the start
    state.apply("requests", {"requests": [request()] * 10, "skipped": 5}, 10.0)
    assert state.rates(12.0) == [("Fetch", 2.0), ("other", 1.0)]
    assert state.rates(16.0) == []


# The view


def test_bar_has_the_four_parts_of_a_log() -> None:
    state = state_of(topic("t", partition(0, (10, 20, 25, 30))))
    assert "··········██████████▒▒▒▒▒░░░░░" in row(state, "t ")
    assert "..........##########~~~~~?????" in row(state, "t ", unicode=False)


def test_bars_of_a_topic_have_one_scale() -> None:
    state = state_of(topic("t", partition(0, (0, 30, 30, 30)), partition(1, (0, 10, 10, 10))))
    first, second = (line for line in shown(state) if "█" in line and "start" not in line and "stable" not in line)
    assert (first.count("█"), second.count("█")) == (30, 10)


def test_bar_of_a_log_far_from_0_does_not_begin_at_0() -> None:
    state = state_of(topic("t", partition(0, (1_000_000, 1_000_100, 1_000_100, 1_000_100))))
    assert row(state, "t ").count("█") == 24


def test_partition_without_leader_is_shown() -> None:
    state = state_of(topic("t", partition(0, (None, None, None, None), leader=None, isr=[], size_bytes=None)))
    assert "no leader" in row(state, "t ")
    assert row(state, "t ").endswith("none    none of 1")


def test_internal_topics_are_left_out() -> None:
    assert not any(
        "__consumer_offsets" in line for line in shown(state_of(topic("__consumer_offsets", is_internal=True)))
    )


def test_group_shows_its_lag_by_partition() -> None:
    offsets = [{"topic": "t", "partition": index, "lag": lag} for index, lag in enumerate((0, 7))]
    group = {"group_id": "g", "state": "Stable", "members": [1], "offsets": offsets, "lag": 7}
    assert row(state_of(groups=[group]), "g ").split() == ["g", "Stable", "1", "7", "t-1", "7"]


def test_open_transactions_are_first() -> None:
    done = {"transactional_id": "a", "state": "CompleteCommit", "started_ms": 1, "timeout_ms": 60_000, "partitions": []}
    begun = done | {"transactional_id": "b", "state": "Ongoing", "partitions": [{"topic": "t", "partition": 0}]}
    lines = shown(state_of(transactions=[done, begun]))
    first = lines.index("TRANSACTIONS") + 2
    assert [line.split()[0] for line in lines[first : first + 2]] == ["b", "a"]


def test_stopped_broker_and_advanced_clock_are_in_the_first_line() -> None:
    state = state_of(brokers=[{"node_id": 1, "is_running": True}, {"node_id": 2, "is_running": False}])
    state.apply("clock", {"now_ms": 0, "ahead_ms": 7_199_999}, 0.0)  # measured, with an accuracy of two milliseconds
    first = shown(state)[0]
    assert "brokers 1 2 stopped" in first
    assert first.endswith("(+2 h 0 min)")


def test_lost_connection_is_in_the_second_line() -> None:
    state = state_of()
    state.problem = "there is no control API"
    assert shown(state)[1] == "there is no control API; trying again"


def test_control_characters_of_clients_do_not_reach_the_terminal() -> None:
    state = state_of(topic("t", partition()))
    attack = "client=\x1b[2Jx\x9b Fetch v1 -> ok\r\n"
    state.apply("requests", {"requests": [request(attack)], "skipped": 0}, 0.0)
    assert "\\x1b[2Jx\\x9b Fetch v1 -> ok\\r\\n" in shown(state)[-1]


@pytest.mark.parametrize("width", [20, 60, 80, 200])
@pytest.mark.parametrize("rows", [1, 5, 12, 24, 60])
def test_view_fits_into_its_size(width: int, rows: int) -> None:
    groups = [
        {"group_id": f"group-{index}", "state": "Empty", "members": [], "offsets": [], "lag": 0} for index in range(30)
    ]
    state = state_of(*(topic(f"topic-{index}", partition(0), partition(1)) for index in range(40)), groups=groups)
    state.apply("requests", {"requests": [request("x" * 300)] * 100, "skipped": 0}, 0.0)
    lines = shown(state, width, rows)
    assert len(lines) <= rows
    assert all(wide(line) <= width for line in lines)


def test_shortened_section_shows_the_number_of_hidden_lines() -> None:
    state = state_of(*(topic(f"topic-{index:02}", partition()) for index in range(40)))
    lines = shown(state, 120, 24)
    shown_topics = [line for line in lines if line.startswith("topic-")]
    assert f"... {40 - len(shown_topics)} more" in lines


# Texts


def test_text_is_fitted_by_its_columns() -> None:
    assert (fit("abc", 5), fit("abcdef", 5), fit("日本語", 5)) == ("abc  ", "abcd~", "日本~")


def test_line_is_clipped_at_the_width() -> None:
    line: Line = [Span("abc", BOLD), Span("def", RED)]
    assert clipped(line, 5) == [Span("abc", BOLD), Span("d~", RED)]
    assert clipped(line, 6) == line


def test_styles_are_ansi_codes_if_there_is_color() -> None:
    line: Line = [Span("a", BOLD), Span("b"), Span("", RED)]
    assert painted(line, color=True) == "\x1b[1ma\x1b[0mb"
    assert painted(line, color=False) == "ab"


def test_numbers_are_short() -> None:
    assert [size(each) for each in (None, 0, 999, 1500, 20_000, 5 << 30)] == [
        "-",
        "0 B",
        "999 B",
        "1.5 kB",
        "20 kB",
        "5.0 GB",
    ]
    assert [duration(each) for each in (0, 61_000, 7_260_000, 259_200_000)] == [
        "0 s",
        "1 min 1 s",
        "2 h 1 min",
        "3 d 0 h",
    ]
    assert plain("a\tb\u202e") == "a\\tb\\u202e"
