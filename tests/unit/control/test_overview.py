"""Tests of the overview that `kafkalet top` shows: its state and its text."""

from typing import Any

import pytest

from kafkalet.control.overview import (
    BOLD,
    RED,
    Line,
    Navigation,
    Span,
    State,
    View,
    clipped,
    fit,
    painted,
    plain,
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


def shown(
    state: State, width: int = 120, rows: int | None = None, chosen: Navigation | None = None, *, unicode: bool = True
) -> list[str]:
    return [painted(line, color=False) for line in View(state, width, rows, chosen, unicode=unicode).lines(0.0)]


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
    assert "··········██████████▒▒▒▒▒░░░░░" in row(state, "t-0")
    assert "..........##########~~~~~?????" in row(state, "t-0", unicode=False)


def test_bars_of_a_topic_have_one_scale() -> None:
    state = state_of(topic("t", partition(0, (0, 30, 30, 30)), partition(1, (0, 10, 10, 10))))
    first, second = row(state, "t-0"), row(state, "t-1")
    assert (first.count("█"), second.count("█")) == (30, 10)


def test_bar_of_a_log_far_from_0_does_not_begin_at_0() -> None:
    state = state_of(topic("t", partition(0, (1_000_000, 1_000_100, 1_000_100, 1_000_100))))
    assert row(state, "t-0").count("█") == 24


def test_partition_without_leader_is_shown() -> None:
    state = state_of(topic("t", partition(0, (None, None, None, None), leader=None, isr=[], size_bytes=None)))
    assert "no leader" in row(state, "t-0")
    assert row(state, "t-0").endswith("none    none of 1")


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
    first = next(index for index, line in enumerate(lines) if line.startswith("TRANSACTIONS")) + 1
    assert [line.split()[0] for line in lines[first : first + 2]] == ["b", "a"]


def test_stopped_broker_and_advanced_clock_are_in_the_first_line() -> None:
    state = state_of(brokers=[{"node_id": 1, "is_running": True}, {"node_id": 2, "is_running": False}])
    state.apply("clock", {"now_ms": 0, "ahead_ms": 7_199_999}, 0.0)  # measured, with an accuracy of two milliseconds
    first = shown(state)[0]
    assert "brokers 1 2 stopped" in first
    assert first.endswith("(+2 h)")


def test_lost_connection_is_in_the_second_line() -> None:
    state = state_of()
    state.problem = "there is no control API"
    assert shown(state)[1] == "there is no control API; trying again"


def test_control_characters_of_clients_do_not_reach_the_terminal() -> None:
    state = state_of(topic("t", partition()))
    attack = "client=\x1b[2Jx\x9b Fetch v1 -> ok\r\n"
    state.apply("requests", {"requests": [request(attack)], "skipped": 0}, 0.0)
    assert "\\x1b[2Jx\\x9b Fetch v1 -> ok\\r\\n" in shown(state)[-1]


def full_state(*, topics: int = 1000, groups: int = 30, transactions: int = 20) -> State:
    """Return a state in which each section has more rows than fit."""
    state = state_of(
        *(topic(f"topic-{index:04}", partition()) for index in range(topics)),
        groups=[
            {"group_id": f"group-{index:02}", "state": "Empty", "members": [], "offsets": [], "lag": 0}
            for index in range(groups)
        ],
        transactions=[
            {"transactional_id": f"pay-{index:02}", "state": "Ongoing", "started_ms": -1, "timeout_ms": 60_000}
            | {"partitions": [{"topic": "t", "partition": 0}]}
            for index in range(transactions)
        ],
        faults=[{"id": index, "fired": 0, "text": f"fault({index})"} for index in range(5)],
    )
    state.apply("requests", {"requests": [], "skipped": 0}, 0.0)
    requests = [request(f"client=c{index} Fetch v1 -> ok", api=f"AnApiWithALongName{index}") for index in range(100)]
    state.apply("requests", {"requests": requests, "skipped": 0}, 0.0)
    return state


TITLES = ("TOPICS", "GROUPS", "TRANSACTIONS", "FAULTS", "REQUESTS PER SECOND", "LAST REQUESTS")


def rows_of(lines: list[str]) -> dict[str, list[str]]:
    """Return the rows of each section of a screen."""
    found: dict[str, list[str]] = {}
    for line in lines[1:-1]:
        if line.startswith(TITLES):
            rows = found.setdefault(next(title for title in TITLES if line.startswith(title)), [])
        elif line:
            rows.append(line)
    return found


@pytest.mark.parametrize("width", [20, 60, 80, 200])
@pytest.mark.parametrize("rows", [1, 2, 5, 12, 24, 60])
def test_view_fits_into_its_size(width: int, rows: int) -> None:
    lines = shown(full_state(), width, rows)
    assert len(lines) == rows
    assert all(wide(line) <= width for line in lines)


def test_each_section_has_two_rows_before_another_has_a_third() -> None:
    for rows in range(20, 50):
        sizes = [len(found) for found in rows_of(shown(full_state(), 80, rows)).values()]
        assert len(sizes) == len(TITLES)
        assert min(sizes) >= 2 or max(sizes) <= 2


def test_terminal_of_80_by_24_shows_rows_of_every_section() -> None:
    sizes = [len(found) for found in rows_of(shown(full_state(), 80, 24)).values()]
    assert (len(sizes), min(sizes), sum(sizes)) == (len(TITLES), 2, 24 - 2 - len(TITLES))


def test_section_without_rows_is_the_first_to_go() -> None:
    state = full_state(topics=0)
    assert "TOPICS: none" in shown(state, 80, 24)
    assert "TOPICS" not in rows_of(shown(state, 80, 12))


def test_header_says_which_rows_are_visible() -> None:
    assert shown(full_state(), 80, 24)[1].startswith("TOPICS 1-3/1000 ")


def test_columns_of_80_by_24_are_not_cut() -> None:
    header, first = shown(full_state(), 80, 24)[1:3]
    assert (header.split()[-3:], first.split()[-2:]) == (["leader", "in", "sync"], ["1", "1"])


# Keys


def pressed(state: State, *keys: str, rows: int = 24) -> list[str]:
    """Return the screen after keys."""
    chosen = Navigation()
    lines = shown(state, 80, rows, chosen)
    for key in keys:
        chosen.press(key)
        lines = shown(state, 80, rows, chosen)
    return lines


@pytest.mark.parametrize(
    ("keys", "first"),
    [
        (["down"], 1),
        (["page down", "page down"], 6),
        (["end"], 997),
        (["end", "down", "up"], 996),
        (["page down", "home"], 0),
        (["up", "down"], 1),
    ],
)
def test_section_is_scrolled_within_its_rows(keys: list[str], first: int) -> None:
    rows = rows_of(pressed(full_state(), *keys))["TOPICS"]
    assert (rows[0].split()[0], len(rows)) == (f"topic-{first:04}-0", 3)


def test_tab_selects_the_section_that_is_scrolled() -> None:
    screen = pressed(full_state(), "tab", "tab", "back tab", "down")
    assert rows_of(screen)["GROUPS"][0].startswith("group-01")
    assert screen[-1].endswith("scroll groups")


def test_enter_enlarges_the_selected_section_until_it_is_pressed_again() -> None:
    screen = pressed(full_state(), "tab", "enter")
    assert {title: len(rows) for title, rows in rows_of(screen).items()} == {"GROUPS": 21}
    assert pressed(full_state(), "tab", "enter", "enter")[1:] == pressed(full_state(), "tab")[1:]


def test_filter_keeps_the_rows_that_contain_it() -> None:
    screen = pressed(full_state(), "/", *"OUP-1", "backspace", *"07", "enter")
    assert rows_of(screen)["GROUPS"][0].startswith("group-07")
    assert "TRANSACTIONS" not in rows_of(screen)
    assert screen[-1].startswith("filter: OUP-07  Esc clear  q quit")
    assert pressed(full_state(), "/", *"OUP-07", "enter", "escape")[1:] == pressed(full_state())[1:]


def test_share_groups_are_shown_with_the_other_groups() -> None:
    facts = {"state": "Stable", "members": [{}], "lag": 2}
    behind = {"topic": "t", "partition": 0, "lag": 2}
    state = state_of(
        groups=[facts | {"group_id": "billing", "offsets": [behind]}],
        share_groups=[facts | {"group_id": "jobs", "positions": [behind]}],
    )
    assert [row.split() for row in rows_of(shown(state))["GROUPS"]] == [
        ["billing", "Stable", "1", "2", "t-0", "2"],
        ["jobs", "Stable,", "share", "1", "2", "t-0", "2"],
    ]


def test_q_ends_the_view_unless_it_is_part_of_the_filter() -> None:
    chosen = Navigation()
    for key in ("/", "q"):
        chosen.press(key)
    assert (chosen.filter, chosen.is_done) == ("q", False)
    chosen.press("enter")
    chosen.press("q")
    assert chosen.is_done


def test_selection_moves_to_another_section_when_its_rows_are_gone() -> None:
    state, chosen = full_state(), Navigation()
    shown(state, 80, 24, chosen)
    chosen.press("tab")
    state.apply("groups", {"groups": [], "removed": [f"group-{index:02}" for index in range(30)]}, 0.0)
    assert shown(state, 80, 24, chosen)[-1].endswith("scroll topics")


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


def test_control_characters_are_escaped() -> None:
    assert plain("a\tb\u202e") == "a\\tb\\u202e"
