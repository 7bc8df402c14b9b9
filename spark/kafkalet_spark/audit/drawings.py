"""Draw plots as SVG text, with axes and ticks at round values.

Colours are given as CSS classes (`data`, `committed`, `aborted`, `open`, `late`), which the page defines for light and
dark mode. All text is escaped, and the SVG has no external references.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 720, 240
LEFT, RIGHT, TOP, BOTTOM = 76, 14, 12, 34
LAST_MOMENT_MS = 253_402_300_799_999
"""The end of the year 9999."""
_DAY_MS = 86_400_000
_STEPS_MS = [
    *(step * unit for unit in (1, 10, 100) for step in (1, 2, 5)),
    *(step * 1000 for step in (1, 2, 5, 10, 15, 30)),
    *(step * 60_000 for step in (1, 2, 5, 10, 15, 30)),
    *(step * 3_600_000 for step in (1, 2, 3, 6, 12)),
    *(step * _DAY_MS for step in (1, 2, 7, 14, 30, 90, 180, 365, 730, 1825, 3650)),
]

Format = Callable[[float], str]


class Tick(NamedTuple):
    """A tick on an axis: its value and its label."""

    value: float
    text: str


class Axis(NamedTuple):
    """An axis from `low` to `high`, where `low` < `high`."""

    low: float
    high: float
    ticks: tuple[Tick, ...]
    title: str
    is_logarithmic: bool = False

    def share(self, value: float) -> float:
        """Return the position of a value on the axis, from 0 to 1."""
        low, high = self.low, self.high
        if self.is_logarithmic:
            low, high, value = math.log1p(low), math.log1p(high), math.log1p(max(value, 0))
        return min(max((value - low) / (high - low), 0.0), 1.0)


def number(value: float) -> str:
    """Format a number, such as 123,456, 5.6 M or 0.25."""
    for limit, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(value) >= limit:
            return f"{value / limit:.4g} {unit}"
    return f"{value:,.0f}" if abs(value) >= 100 or float(value).is_integer() else f"{value:.3g}"


def size(value: float) -> str:
    """Format a size in bytes, with binary units."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if float(value).is_integer() else f"{value:.1f} {unit}"


def duration(ms: float) -> str:
    """Format a duration, such as 1.5 s, 2 min or 3.2 h."""
    for limit, unit in ((_DAY_MS, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s")):
        if ms >= limit:
            return f"{ms / limit:.3g} {unit}"
    return f"{ms:.0f} ms"


def moment(ms: float) -> str:
    """Format a timestamp in UTC, or as a number of milliseconds if it is out of range."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return f"{ms:,.0f} ms"


def linear(low: float, high: float, title: str, form: Format = number, count: int = 5) -> Axis:
    """Return an axis with about `count` round tick values."""
    if high - low < 1e-9:
        high = low + 1
    step = 10 ** math.floor(math.log10((high - low) / count))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= count)
    first = math.ceil(low / step)
    ticks = (Tick(at * step, form(at * step)) for at in range(first, math.floor(high / step) + 1))
    return Axis(low, high, tuple(ticks), title)


def sizes(high: float, title: str) -> Axis:
    """Return an axis for bytes, from 0, with round tick values in KiB, MiB and so on."""
    unit = 1024 ** max(min(int(math.log(max(high, 1), 1024)), 4), 0)
    axis = linear(0, high / unit, title)
    return Axis(
        0,
        max(high, unit * axis.high),
        tuple(Tick(tick.value * unit, size(tick.value * unit)) for tick in axis.ticks),
        title,
    )


def logarithmic(high: float, title: str, form: Format) -> Axis:
    """Return a logarithmic axis from 0, with ticks at powers of ten."""
    top = max(high, 1)
    powers = [10**power for power in range(0, 20, 1 if top < 1e6 else 2) if 10**power <= top]
    return Axis(0, top, (Tick(0, form(0)), *(Tick(value, form(value)) for value in powers)), title, True)


def times(low: int, high: int, count: int = 5) -> Axis:
    """Return a time axis in UTC; a label has the date if it is a new one. Out of range, the axis is in milliseconds."""
    if high > LAST_MOMENT_MS:
        return linear(low, max(high, low + (low >> 40)), "time (ms)")  # the ends must differ as floats
    high = max(high, low + 1)
    step = next((step for step in _STEPS_MS if high - low <= step * count), -((low - high) // count))
    ticks: list[Tick] = []
    day = ""
    for at in range(-(-low // step), high // step + 1):
        date, _, clock = moment(at * step).partition(" ")
        if step < 1000:
            clock += f".{at * step % 1000:03d}"
        clock = clock.removesuffix(":00")
        text = date if step >= _DAY_MS else clock if date == day else f"{date} {clock}"
        ticks.append(Tick(at * step, text))
        day = date
    return Axis(low, high, tuple(ticks), "time (UTC)")


class Plot:
    """A plot with two axes. Marks are positioned in axis units."""

    def __init__(self, x: Axis, y: Axis, label: str, height: int = HEIGHT) -> None:
        self.x = x
        self.y = y
        self.label = label
        self.height = height
        self._marks: list[str] = []

    def _at(self, x: float) -> float:
        return LEFT + self.x.share(x) * (WIDTH - LEFT - RIGHT)

    def _up(self, y: float) -> float:
        return self.height - BOTTOM - self.y.share(y) * (self.height - TOP - BOTTOM)

    def box(self, left: float, right: float, low: float, high: float, kind: str, title: str = "") -> None:
        """Draw a rectangle of at least two by two pixels."""
        x, y = self._at(left), self._up(high)
        width, height = max(self._at(right) - x, 2.0), max(self._up(low) - y, 2.0)
        inside = f"<title>{escape(title)}</title>" if title else ""
        self._marks.append(
            f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}">{inside}</rect>'
        )

    def steps(self, points: Iterable[tuple[float, float, float]], kind: str) -> None:
        """Draw bars (left, right, height), filled down to the axis."""
        floor = self._up(self.y.low)
        path = "".join(
            f"M{self._at(left):.1f} {floor:.1f}V{self._up(value):.1f}H{max(self._at(right), self._at(left) + 1):.1f}"
            f"V{floor:.1f}Z"
            for left, right, value in points
        )
        if path:
            self._marks.append(f'<path class="{kind}" d="{path}"/>')

    def svg(self) -> str:
        """Return the plot as SVG."""
        right, bottom = WIDTH - RIGHT, self.height - BOTTOM
        parts = [
            f'<svg viewBox="0 0 {WIDTH} {self.height}" role="img" aria-label="{escape(self.label)}">',
        ]
        for tick in self.y.ticks:
            y = self._up(tick.value)
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(
                f'<text class="tick" text-anchor="end" x="{LEFT - 6}" y="{y + 4:.1f}">{escape(tick.text)}</text>'
            )
        for tick in self.x.ticks:
            x = self._at(tick.value)
            anchor = "end" if x > right - 40 else "start" if x < LEFT + 40 else "middle"
            parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 4}"/>')
            parts.append(_text("tick", anchor, x, bottom + 16, tick.text))
        parts.append(f'<line class="axis" x1="{LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}"/>')
        parts += self._marks
        parts.append(
            f'<text class="name" x="{right}" y="{self.height - 4}" text-anchor="end">{escape(self.x.title)}</text>'
        )
        parts.append(f'<text class="name" x="{LEFT - 70}" y="{self.height - 4}">{escape(self.y.title)}</text>')
        return "".join([*parts, "</svg>"])


def _text(kind: str, anchor: str, x: float, y: float, text: str) -> str:
    return f'<text class="{kind}" text-anchor="{anchor}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
