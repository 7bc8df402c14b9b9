"""The overview that `kafkalet top` shows: the state of the brokers, read from the API, and its text."""

import sys
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple
from unicodedata import combining, east_asian_width

from kafkalet.clock import SystemClock
from kafkalet.units import duration, size

from .client import ControlClient

Json = Any

RATE_S = 5.0
"""The period over which requests per second are averaged."""
MOST_REQUESTS = 200
FEW_REQUESTS, ONCE_REQUESTS = 6, 15
"""The last requests that are shown before sections are set apart, and with `--once`."""
BAR_WIDTH = 30


# The state


class State:
    """The latest state of the brokers, from the events of the API."""

    KEYS: Mapping[str, str] = {
        "brokers": "node_id",
        "topics": "name",
        "groups": "group_id",
        "share_groups": "group_id",
        "transactions": "transactional_id",
        "faults": "id",
    }

    def __init__(self) -> None:
        self.cluster: Json = {}
        self.items: dict[str, dict[Any, Json]] = {kind: {} for kind in self.KEYS}
        self.ahead_ms = 0
        self.requests: deque[Json] = deque(maxlen=MOST_REQUESTS)
        self.counts: Counter[str] | None = None
        """The number of requests by API since the start, if it is shown instead of rates."""
        self.problem = ""
        """Why the connection to the API was lost, or ""."""
        self._arrivals: deque[tuple[float, str]] = deque()
        self._connected_s = 0.0
        self._is_first: set[str] = set()

    def connected(self, now_s: float) -> None:
        """Begin a new stream of events. The first event of each kind contains the full state."""
        self.problem = ""
        self._connected_s = now_s
        self._arrivals.clear()
        self._is_first = {*self.KEYS, "requests"}

    def apply(self, kind: str, data: Json, now_s: float) -> None:
        """Apply an event."""
        is_first = kind in self._is_first
        self._is_first.discard(kind)
        if kind == "clock":
            self.ahead_ms = data["ahead_ms"]
        elif kind == "requests":
            if is_first:
                self.requests.clear()
            else:
                self._arrivals += [(now_s, request["api"]) for request in data["requests"]]
                self._arrivals += [(now_s, "other")] * data["skipped"]
            self.requests += data["requests"]
        elif kind in self.KEYS:
            known = self.items[kind]
            if is_first:
                known.clear()
            for key in data["removed"]:
                known.pop(key, None)
            known |= {item[self.KEYS[kind]]: item for item in data[kind]}

    def sorted(self, kind: str) -> list[Json]:
        items = self.items[kind]
        return [items[key] for key in sorted(items)]

    def now_ms(self) -> float:
        return SystemClock().now_ms() + self.ahead_ms

    def rates(self, now_s: float) -> list[tuple[str, float]]:
        """Return the requests per second by API, the most frequent first."""
        while self._arrivals and self._arrivals[0][0] < now_s - RATE_S:
            self._arrivals.popleft()
        period_s = max(1.0, min(RATE_S, now_s - self._connected_s))
        return [(api, count / period_s) for api, count in Counter(api for _, api in self._arrivals).most_common()]


def read(client: ControlClient) -> State:
    """Read the state once. Raises ControlError."""
    state = State()
    state.cluster = client.ask("GET", "/v1/cluster")
    for kind, key in State.KEYS.items():
        found = state.cluster if kind == "brokers" else client.ask("GET", f"/v1/{kind.replace('_', '-')}")
        state.items[kind] = {item[key]: item for item in found[kind]}
    state.ahead_ms = client.ask("GET", "/v1/clock")["ahead_ms"]
    state.requests += client.ask("GET", "/v1/requests", query={"limit": MOST_REQUESTS})["requests"]
    state.counts = Counter()
    for each in client.ask("GET", "/v1/requests/counts")["counts"]:
        state.counts[each["api"]] += each["count"]
    return state


# The view


class Span(NamedTuple):
    """A part of a line. The style is the parameter of an ANSI code, or ""."""

    text: str
    style: str = ""


Line = list[Span]

BOLD, DIM, REVERSE = "1", "2", "7"
RED, GREEN, YELLOW, BLUE, MAGENTA = "31", "32", "33", "34", "35"


class Part(NamedTuple):
    """A part of a log in a bar."""

    name: str
    drawn: str
    plain: str
    """The character for terminals without Unicode."""
    style: str


PARTS = (
    Part("deleted", "·", ".", DIM),
    Part("stable", "█", "#", BLUE),
    Part("in open transactions", "▒", "~", YELLOW),
    Part("not replicated", "░", "?", MAGENTA),
)


class Section(NamedTuple):
    """A part of the view: a header, and rows that are drawn when they are visible."""

    name: str
    title: str
    rows: Sequence[Callable[[], Line]]
    width: int = 0
    """The width of the first column, whose header is the title."""
    columns: str = ""
    """The headers of the other columns."""
    legend: Sequence[Span] = ()
    """A line that is shown if there is room."""

    def header(self, position: str = "", style: str = BOLD) -> Line:
        title = f"{self.title} {position}".rstrip() if self.rows else f"{self.title}: none"
        return [Span(title, style), Span(f"{'':{max(0, self.width - len(title))}}{self.columns}", DIM)]


class Navigation:
    """What keys have selected in the view: a section, how far each section is scrolled, and a filter."""

    def __init__(self) -> None:
        self.selected = "topics"
        self.is_enlarged = False
        """Whether the selected section has the whole view."""
        self.filter = ""
        self.is_typing = False
        """Whether the keys change the filter."""
        self.is_done = False
        self.first: Counter[str] = Counter()
        """The first visible row of each section."""
        self.visible: dict[str, int] = {}
        """The number of visible rows of each section, in the order of the view that was drawn last."""

    def press(self, key: str) -> None:
        """Handle a key: a character, or the name of another key."""
        if self.is_typing:
            self._type(key)
        elif key in ("q", "Q"):
            self.is_done = True
        elif key == "/":
            self.is_typing = True
        elif key == "enter":
            self.is_enlarged = not self.is_enlarged
        elif key == "escape":
            self.is_enlarged, self.filter = False, ""
        elif key in ("tab", "back tab") and self.visible and not self.is_enlarged:
            names = list(self.visible)
            step = 1 if key == "tab" else -1
            self.selected = names[(names.index(self.selected) + step) % len(names)]
        else:
            page = max(1, self.visible.get(self.selected, 1))
            steps = {"up": -1, "down": 1, "page up": -page, "page down": page, "home": -sys.maxsize, "end": sys.maxsize}
            self.first[self.selected] += steps.get(key, 0)

    def _type(self, key: str) -> None:
        if key in ("enter", "escape"):
            self.is_typing = False
        if key == "escape":
            self.filter = ""
        elif key == "backspace":
            self.filter = self.filter[:-1]
        elif len(key) == 1 and key.isprintable():
            self.filter += key

    def matches(self, text: str) -> bool:
        return self.filter.lower() in text.lower()

    def show(self, names: Sequence[str], counts: Sequence[int], visible: Sequence[int]) -> None:
        """Adapt the selection and the scroll positions to the sections of the view and their visible rows."""
        self.visible = dict(zip(names, visible, strict=True))
        if self.selected not in self.visible:
            self.selected = names[0]
        for name, count in zip(names, counts, strict=True):
            self.first[name] = max(0, min(self.first[name], count - self.visible[name]))

    def help(self, arrows: str) -> str:
        """Return the line that names the keys."""
        if self.is_typing:
            return f"filter: {plain(self.filter)}_  Enter keep  Esc clear"
        parts = [f"filter: {plain(self.filter)}  Esc clear"] if self.filter else []
        parts += ["q quit", "/ filter", *(["Enter shrink"] if self.is_enlarged else ["Tab section", "Enter enlarge"])]
        return "  ".join([*parts, f"{arrows} PgUp PgDn scroll {self.selected}"])


class View:
    """Draws a state as lines of a width. `rows` is their number; None shows everything, without a line of keys."""

    def __init__(
        self,
        state: State,
        width: int,
        rows: int | None,
        navigation: Navigation | None = None,
        *,
        unicode: bool = True,
    ) -> None:
        self._state = state
        self._width = max(20, width)
        self._rows = rows
        self._navigation = navigation or Navigation()
        self._unicode = unicode
        self._name_width = max(16, self._width // 3)

    def lines(self, now_s: float) -> list[Line]:
        """Return the lines, each at most as wide as the view. What is selected is kept within it."""
        sections = [
            self._topics(),
            self._groups(),
            self._transactions(),
            self._faults(),
            self._rates(now_s),
            self._requests(),
        ]
        sections = [each for each in sections if each.rows or each.name not in State.KEYS or each.name == "topics"]
        found = self._head()
        if self._rows is None:
            for each in sections:
                legend = [list(each.legend)] if each.legend else []
                found += [[], each.header(), *(row() for row in each.rows), *legend]
        else:
            found += self._fitted(sections, self._rows - len(found) - 1)
            found += [[]] * (self._rows - len(found) - 1)
            found = [*found[: self._rows - 1], [Span(self._navigation.help("↑ ↓" if self._unicode else "arrows"), DIM)]]
        return [clipped(line, self._width) for line in found]

    def _fitted(self, sections: list[Section], room: int) -> list[Line]:
        """Return the visible lines of the sections. Each gets two rows before another gets a third."""
        chosen = self._navigation
        if chosen.is_enlarged:
            sections = [each for each in sections if each.name == chosen.selected] or sections[:1]
        while len(sections) > 1 and sum(2 if each.rows else 1 for each in sections) > room:
            sections.remove(min(reversed(sections), key=lambda each: (bool(each.rows), each.name != "rates")))
        counts = [len(each.rows) for each in sections]
        few = [min(len(each.rows), FEW_REQUESTS) if each.name == "requests" else len(each.rows) for each in sections]
        heights, spare = _distributed(few, room - len(sections))
        legends = [bool(each.legend) and spare > 0 for each in sections]
        spare -= sum(legends)
        gap: list[Line] = [[]] if spare >= len(sections) else []
        spare -= len(gap) * len(sections)
        heights[-1] += min(spare, counts[-1] - heights[-1])
        chosen.show([each.name for each in sections], counts, heights)
        lines: list[Line] = []
        for section, height, has_legend in zip(sections, heights, legends, strict=True):
            first = chosen.first[section.name]
            rows = section.rows[first : first + height]
            position = f"{first + 1}-{first + height}/{len(section.rows)}" if height < len(section.rows) else ""
            style = REVERSE if section.name == chosen.selected else BOLD
            legend = [list(section.legend)] if has_legend else []
            lines += [*gap, section.header(position, style), *(row() for row in rows), *legend]
        return lines

    def _head(self) -> list[Line]:
        state = self._state
        brokers: Line = [Span("  brokers")]
        for broker in state.sorted("brokers"):
            is_running = broker["is_running"]
            brokers.append(Span(f" {broker['node_id']}", GREEN if is_running else RED))
            if not is_running:
                brokers.append(Span(" stopped", RED))
        cluster = state.cluster
        right = _time(state.now_ms(), "%Y-%m-%d %H:%M:%S")
        if state.ahead_ms > 1000:
            right += f" (+{duration(round(state.ahead_ms, -3))})"  # it is the difference of two clock readings
        left = [Span("kafkalet", BOLD), Span(f"  Kafka {plain(cluster.get('kafka_version', '?'))}"), *brokers]
        left.append(Span(f"  {plain(cluster.get('bootstrap_servers', ''))}", DIM))
        room = self._width - wide(right) - 2
        left = clipped(left, room)
        gap = " " * max(2, self._width - sum(wide(span.text) for span in left) - wide(right))
        lines: list[Line] = [[*left, Span(gap), Span(right, YELLOW if state.ahead_ms > 1000 else "")]]
        if state.problem:
            lines.append([Span(plain(state.problem), RED), Span("; trying again")])
        return lines

    def _topics(self) -> Section:
        found = [
            (topic, partition)
            for topic in self._state.sorted("topics")
            if not topic["is_internal"] and self._navigation.matches(topic["name"])
            for partition in topic["partitions"]
        ]
        name_width = self._first_column("TOPICS", [f"{plain(t['name'])}-{p['partition']}" for t, p in found])
        number_width = 1 + max([6, *(len(str(partition["log_end_offset"])) for _, partition in found)])
        bar_width = max(5, min(BAR_WIDTH, self._width - name_width - 4 * number_width - 26))

        def draw(topic: Json, partition: Json) -> Line:
            number = f"-{partition['partition']}"
            name = fit(plain(topic["name"]), name_width - len(number)).rstrip() + number
            return [
                Span(f"{fit(name, name_width)} ", BOLD),
                *self._bar(partition, _scale(topic["partitions"]), bar_width),
                *_offsets(partition, number_width),
            ]

        numbers = "".join(f"{each:>{number_width}}" for each in ("start", "stable", "high", "end"))
        columns = f" {'log':{bar_width}}{numbers}{'size':>8}  leader  in sync"
        legend = [Span("  ")]
        for part in PARTS:
            legend += [Span(part.drawn if self._unicode else part.plain, part.style), Span(f" {part.name}  ", DIM)]
        rows = [partial(draw, *each) for each in found]
        return Section("topics", "TOPICS", rows, name_width, columns if found else "", legend if found else ())

    def _first_column(self, title: str, texts: Sequence[str]) -> int:
        """Return the width of a column with these strings, and with the title and the position in its header."""
        count = len(texts)
        return min(self._name_width, max([len(f"{title} {count}-{count}/{count}"), *map(wide, texts)]))

    def _bar(self, partition: Json, scale: tuple[int, int], width: int) -> Line:
        ends = [partition[name] for name in OFFSETS]
        if ends[0] is None:
            return [Span(fit("no leader", width), RED)]
        first, last = scale
        line: Line = []
        column = 0
        for part, end in zip(PARTS, ends, strict=True):
            until = round(width * (min(max(end, first), last) - first) / (last - first))
            line.append(Span((part.drawn if self._unicode else part.plain) * max(0, until - column), part.style))
            column = max(column, until)
        return [*line, Span(" " * (width - column))]

    def _groups(self) -> Section:
        known = [*self._state.sorted("groups"), *self._state.sorted("share_groups")]
        found = [each for each in known if self._navigation.matches(each["group_id"])]
        width = self._first_column("GROUPS", [plain(each["group_id"]) for each in found])

        def draw(group: Json) -> Line:
            lag = group["lag"]
            is_share = "positions" in group
            behind = [each for each in group["positions" if is_share else "offsets"] if each["lag"]]
            where = ", ".join(f"{plain(each['topic'])}-{each['partition']} {each['lag']}" for each in behind)
            state = f"{group['state']}, share" if is_share else group["state"]
            return [
                Span(f"{fit(plain(group['group_id']), width)} "),
                Span(f"{state:20}", GREEN if group["state"] == "Stable" else YELLOW),
                Span(f"{len(group['members']):>7} "),
                Span(f"{lag:>9}", YELLOW if lag else GREEN),
                Span(f"  {where}"),
            ]

        columns = f" {'state':20}{'members':>7} {'lag':>9}  lag by partition"
        return Section("groups", "GROUPS", [partial(draw, each) for each in found], width, columns)

    def _transactions(self) -> Section:
        now_ms = self._state.now_ms()
        found = [
            each
            for each in sorted(self._state.sorted("transactions"), key=lambda each: not _is_open(each))
            if self._navigation.matches(each["transactional_id"])
        ]
        width = self._first_column("TRANSACTIONS", [plain(each["transactional_id"]) for each in found])

        def draw(each: Json) -> Line:
            age = duration(max(0, now_ms - each["started_ms"])) if _is_open(each) and each["started_ms"] >= 0 else "-"
            places = ", ".join(f"{plain(place['topic'])}-{place['partition']}" for place in each["partitions"])
            return [
                Span(f"{fit(plain(each['transactional_id']), width)} "),
                Span(f"{each['state']:17}", YELLOW if _is_open(each) else ""),
                Span(f"{age:>11}{duration(each['timeout_ms']):>11}  {places}"),
            ]

        columns = f" {'state':17}{'age':>11}{'timeout':>11}  partitions"
        return Section("transactions", "TRANSACTIONS", [partial(draw, each) for each in found], width, columns)

    def _faults(self) -> Section:
        found = [each for each in self._state.sorted("faults") if self._navigation.matches(each["text"])]
        return Section("faults", "FAULTS", [partial(_fault, each) for each in found])

    def _rates(self, now_s: float) -> Section:
        counts = self._state.counts
        if counts is not None:
            texts = [f"{plain(api)} {count}" for api, count in counts.most_common()]
        else:
            texts = [f"{plain(api)} {rate:.1f}" for api, rate in self._state.rates(now_s)]
        lines: list[str] = []
        for each in filter(self._navigation.matches, texts):
            if lines and wide(lines[-1]) + 3 + wide(each) <= self._width:
                lines[-1] += f"   {each}"
            else:
                lines.append(each)
        title = "REQUESTS PER SECOND" if counts is None else "REQUESTS SINCE THE START"
        return Section("rates", title, [partial(_line, each) for each in lines])

    def _requests(self) -> Section:
        found = [each for each in reversed(self._state.requests) if self._navigation.matches(each["text"])]
        if self._rows is None:
            found = found[:ONCE_REQUESTS]
        return Section("requests", "LAST REQUESTS", [partial(_request, each) for each in found])


OFFSETS = ("log_start_offset", "last_stable_offset", "high_watermark", "log_end_offset")


def _line(text: str) -> Line:
    return [Span(text)]


def _fault(fault: Json) -> Line:
    fired = fault["fired"]
    text = f"fired {fired}" if fired else "not fired"
    return [Span(f"{text:11}", RED if fired else DIM), Span(plain(fault["text"]))]


def _request(request: Json) -> Line:
    asked, arrow, answered = plain(request["text"]).removeprefix("client=").partition(" -> ")
    is_failure = bool(request["errors"] or request["closed"])
    return [
        Span(f"{_time(request['time_ms'], '%H:%M:%S')}  ", DIM),
        Span(asked),
        Span(f"{arrow}{answered}", RED if is_failure else DIM),
    ]


def _is_open(transaction: Json) -> bool:
    state: str = transaction["state"]
    return state == "Ongoing" or state.startswith("Prepare")


def _offsets(partition: Json, width: int) -> Line:
    start, stable, high, end = (partition[name] for name in OFFSETS)
    missing = len(partition["replicas"]) - len(partition["isr"])
    leader = partition["leader"]
    return [
        Span(f"{_number(start):>{width}}"),
        Span(f"{_number(stable):>{width}}", YELLOW if stable != high else ""),
        Span(f"{_number(high):>{width}}", MAGENTA if high != end else ""),
        Span(f"{_number(end):>{width}}{size(partition['size_bytes']):>8}"),
        Span(f"  {'none' if leader is None else leader:<6}", RED if leader is None else ""),
        Span(f"  {','.join(map(str, partition['isr'])) or 'none'}", YELLOW if missing else ""),
        Span(f" of {','.join(map(str, partition['replicas']))}" if missing else "", YELLOW),
    ]


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


def _scale(partitions: Sequence[Json]) -> tuple[int, int]:
    """Return the first and last offset of the bars. They begin at 0 unless the logs would be slivers."""
    led = [partition for partition in partitions if partition["log_end_offset"] is not None]
    last = max([1, *(partition["log_end_offset"] for partition in led)])
    start = min([last, *(partition["log_start_offset"] for partition in led)])
    first = max(0, start - (last - start) // 4) if start > last / 2 else 0
    return first, max(last, first + 1)


def _distributed(most: Sequence[int], spare: int) -> tuple[list[int], int]:
    """Give each section a row in turn, at most as many as it has. Return the numbers, and the rows that are left."""
    heights = [0] * len(most)
    while spare > 0 and heights != list(most):
        for index, limit in enumerate(most):
            if spare > 0 and heights[index] < limit:
                heights[index] += 1
                spare -= 1
    return heights, max(0, spare)


def plain(value: object) -> str:
    """Return text without control characters, which could change the terminal."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in str(value))


def wide(text: str) -> int:
    """Return how many columns a string takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text)


def fit(text: str, width: int) -> str:
    """Shorten or extend a string to a width."""
    if wide(text) > width:
        while wide(text) > width - 1:
            text = text[:-1]
        text += "~"
    return text + " " * (width - wide(text))


def clipped(line: Line, width: int) -> Line:
    """Return the beginning of a line that fits into a width."""
    found: Line = []
    for span in line:
        if wide(span.text) > width:
            return [*found, Span(fit(span.text, width), span.style)] if width > 0 else found
        found.append(span)
        width -= wide(span.text)
    return found


def painted(line: Line, *, color: bool) -> str:
    """Return a line as text, with ANSI codes for its styles."""
    if not color:
        return "".join(span.text for span in line).rstrip()
    return "".join(f"\x1b[{span.style}m{span.text}\x1b[0m" if span.style and span.text else span.text for span in line)


def _time(ms: float, form: str) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).astimezone().strftime(form)
    except (OverflowError, OSError, ValueError):
        return str(round(ms))
