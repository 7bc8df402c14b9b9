"""The overview that `kafkalet top` shows: the state of the brokers, read from the API, and its text."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple
from unicodedata import combining, east_asian_width

from kafkalet.clock import SystemClock

from .client import ControlClient

Json = Any

RATE_S = 5.0
"""The period over which requests per second are averaged."""
MOST_REQUESTS = 200
ONCE_REQUESTS = 15
BAR_WIDTH = 30


# The state


class State:
    """The latest state of the brokers, from the events of the API."""

    KEYS: Mapping[str, str] = {
        "brokers": "node_id",
        "topics": "name",
        "groups": "group_id",
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
        found = state.cluster if kind == "brokers" else client.ask("GET", f"/v1/{kind}")
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


class View:
    """Draws a state as lines of a width. `rows` limits their number; None shows everything."""

    def __init__(self, state: State, width: int, rows: int | None, *, unicode: bool = True) -> None:
        self._state = state
        self._width = max(20, width)
        self._rows = rows
        self._unicode = unicode

    def lines(self, now_s: float) -> list[Line]:
        """Return the lines, each at most as wide as the view."""
        sections = [
            self._topics(),
            self._groups(),
            self._transactions(),
            self._faults(),
            self._rates(now_s),
            self._requests(),
        ]
        head = self._head()
        if self._rows is not None:
            sections = _fitted([section for section in sections if section], max(0, self._rows - len(head)))
        found = head + [line for section in sections if section for line in ([Span("")], *section)]
        return [clipped(line, self._width) for line in (found if self._rows is None else found[: self._rows])]

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

    def _topics(self) -> list[Line]:
        topics = [topic for topic in self._state.sorted("topics") if not topic["is_internal"]]
        legend = [Span("  ")]
        for part in PARTS:
            legend += [Span(part.drawn if self._unicode else part.plain, part.style), Span(f" {part.name}  ", DIM)]
        name_width = min(32, max([5, *(wide(plain(topic["name"])) for topic in topics)]))
        fixed = name_width + 4 + 9 * 4 + 9 + 8
        bar_width = max(8, min(BAR_WIDTH, self._width - fixed - 10))
        header = [
            *[f"{'topic':{name_width}} {'p':>3} ", f"{'log':{bar_width}}", f"{'start':>9}{'stable':>9}{'high':>9}"],
            f"{'end':>9}{'size':>9}  leader  in sync",
        ]
        lines: list[Line] = [[Span("TOPICS", BOLD), *legend], [Span("".join(header), DIM)]]
        for topic in topics:
            scale = _scale(topic["partitions"])
            for index, partition in enumerate(topic["partitions"]):
                name = fit(plain(topic["name"]), name_width) if index == 0 else " " * name_width
                lines.append(
                    [
                        Span(name, BOLD),
                        Span(f" {partition['partition']:>3} "),
                        *self._bar(partition, scale, bar_width),
                        *_offsets(partition),
                    ]
                )
        return lines if topics else [lines[0], [Span("no topics", DIM)]]

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

    def _groups(self) -> list[Line]:
        lines: list[Line] = []
        for group in self._state.sorted("groups"):
            lag = group["lag"]
            behind = [each for each in group["offsets"] if each["lag"]]
            where = ", ".join(f"{plain(each['topic'])}-{each['partition']} {each['lag']}" for each in behind)
            lines.append(
                [
                    Span(f"{fit(plain(group['group_id']), 32)} "),
                    Span(f"{group['state']:20}", GREEN if group["state"] == "Stable" else YELLOW),
                    Span(f"{len(group['members']):>7} "),
                    Span(f"{lag:>9}", YELLOW if lag else GREEN),
                    Span(f"  {where}"),
                ]
            )
        header = f"{'group':32} {'state':20}{'members':>7} {'lag':>9}  lag by partition"
        return [[Span("GROUPS", BOLD)], [Span(header, DIM)], *lines] if lines else []

    def _transactions(self) -> list[Line]:
        now_ms = self._state.now_ms()
        open_first = sorted(self._state.sorted("transactions"), key=lambda each: not _is_open(each))
        lines: list[Line] = []
        for each in open_first:
            age = duration(max(0, now_ms - each["started_ms"])) if _is_open(each) and each["started_ms"] >= 0 else "-"
            places = ", ".join(f"{plain(place['topic'])}-{place['partition']}" for place in each["partitions"])
            lines.append(
                [
                    Span(f"{fit(plain(each['transactional_id']), 32)} "),
                    Span(f"{each['state']:16}", YELLOW if _is_open(each) else ""),
                    Span(f"{age:>11}{duration(each['timeout_ms']):>11}  {places}"),
                ]
            )
        header = f"{'transactional id':32} {'state':16}{'age':>11}{'timeout':>11}  partitions"
        return [[Span("TRANSACTIONS", BOLD)], [Span(header, DIM)], *lines] if lines else []

    def _faults(self) -> list[Line]:
        lines = [_fault(fault) for fault in self._state.sorted("faults")]
        return [[Span("FAULTS", BOLD)], *lines] if lines else []

    def _rates(self, now_s: float) -> list[Line]:
        counts = self._state.counts
        if counts is not None:
            texts = [f"{plain(api)} {count}" for api, count in counts.most_common()]
        else:
            texts = [f"{plain(api)} {rate:.1f}" for api, rate in self._state.rates(now_s)]
        title = "REQUESTS PER SECOND" if counts is None else "REQUESTS SINCE THE START"
        lines: list[Line] = [[Span(title, BOLD)]]
        text = ""
        for each in texts or ["none"]:
            if text and wide(text) + 3 + wide(each) > self._width:
                lines.append([Span(text)])
                text = ""
            text += f"   {each}" if text else each
        return [*lines, [Span(text)]]

    def _requests(self) -> list[Line]:
        found = list(self._state.requests)
        if self._rows is None:
            found = found[-ONCE_REQUESTS:]
        lines: list[Line] = []
        for request in reversed(found):
            is_failure = bool(request["errors"] or request["closed"])
            lines.append([Span(f"{_time(request['time_ms'], '%H:%M:%S')}  ", DIM), *_asked(request, is_failure)])
        return [[Span("LAST REQUESTS", BOLD)], *(lines or [[Span("none", DIM)]])]


OFFSETS = ("log_start_offset", "last_stable_offset", "high_watermark", "log_end_offset")


def _fault(fault: Json) -> Line:
    fired = fault["fired"]
    text = f"fired {fired}" if fired else "not fired"
    return [Span(f"{text:11}", RED if fired else DIM), Span(plain(fault["text"]))]


def _asked(request: Json, is_failure: bool) -> Line:
    asked, arrow, answered = plain(request["text"]).removeprefix("client=").partition(" -> ")
    return [Span(asked), Span(f"{arrow}{answered}", RED if is_failure else DIM)]


def _is_open(transaction: Json) -> bool:
    state: str = transaction["state"]
    return state == "Ongoing" or state.startswith("Prepare")


def _offsets(partition: Json) -> Line:
    start, stable, high, end = (partition[name] for name in OFFSETS)
    missing = len(partition["replicas"]) - len(partition["isr"])
    leader = partition["leader"]
    return [
        Span(f"{_number(start):>9}"),
        Span(f"{_number(stable):>9}", YELLOW if stable != high else ""),
        Span(f"{_number(high):>9}", MAGENTA if high != end else ""),
        Span(f"{_number(end):>9}{size(partition['size_bytes']):>9}"),
        Span(f"  {'none' if leader is None else leader:<6}", RED if leader is None else ""),
        Span(f"  {','.join(map(str, partition['isr'])) or 'none'}", YELLOW if missing else ""),
        Span(f" of {','.join(map(str, partition['replicas']))}" if missing else "", YELLOW),
    ]


def _scale(partitions: Sequence[Json]) -> tuple[int, int]:
    """Return the first and last offset of the bars. They begin at 0 unless the logs would be slivers."""
    led = [partition for partition in partitions if partition["log_end_offset"] is not None]
    last = max([1, *(partition["log_end_offset"] for partition in led)])
    start = min([last, *(partition["log_start_offset"] for partition in led)])
    first = max(0, start - (last - start) // 4) if start > last / 2 else 0
    return first, max(last, first + 1)


def _fitted(sections: list[list[Line]], rows: int) -> list[list[Line]]:
    """Shorten sections, the longest first, until they fit. The last section gets the remaining lines."""
    spare = rows - len(sections)  # an empty line before each
    lengths = [len(section) for section in sections]
    lengths[-1] = min(lengths[-1], 6)
    while sum(lengths) > spare and max(lengths) > 3:
        lengths[lengths.index(max(lengths))] -= 1
    lengths[-1] = max(lengths[-1], min(len(sections[-1]), spare - sum(lengths[:-1])))
    fitted = []
    for section, length in zip(sections, lengths, strict=True):
        is_cut = length < len(section) and section is not sections[-1]
        more: Line = [Span(f"... {len(section) - length + 1} more", DIM)]
        fitted.append([*section[: length - 1], more] if is_cut else section[:length])
    return fitted


def plain(value: object) -> str:
    """Return text without control characters, which could change the terminal."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in str(value))


def wide(text: str) -> int:
    """Return the number of columns of a text."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text)


def fit(text: str, width: int) -> str:
    """Shorten or extend a text to a width."""
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


def size(value: int | None) -> str:
    """Format a number of bytes, as in `1.2 MB`."""
    if value is None:
        return "-"
    amount = float(value)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.0f} TB"


def duration(ms: float) -> str:
    """Format milliseconds, as in `1 h 5 min`."""
    seconds = int(ms // 1000)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    if seconds < 48 * 3600:
        return f"{seconds // 3600} h {seconds // 60 % 60} min"
    return f"{seconds // 86400} d {seconds // 3600 % 24} h"


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


def _time(ms: float, form: str) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).astimezone().strftime(form)
    except (OverflowError, OSError, ValueError):
        return str(round(ms))
