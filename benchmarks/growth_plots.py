"""Draws the figures of growth.py as SVG files that are legible on light and dark backgrounds (extra: bench).

The same figures give the same files: no date, and names derived from a fixed salt.
"""

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
GREY = "#808080"
COLORS = ("#e07b39", "#3b8fd9", "#2fa36b", "#b05fd0", "#d0a020", "#d04a5a")
STYLE = {
    "svg.hashsalt": "kafkalet",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 4,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), GREY),
    "grid.color": GREY,
    "grid.alpha": 0.25,
}
METADATA = {"Date": None, "Creator": None}


def draw(rows: dict[str, Any]) -> None:
    """Draw the requests and the sessions, if their figures are among these."""
    with matplotlib.rc_context(STYLE):
        of = {unit: {name: row for name, row in rows.items() if row["of"] == unit} for unit in _units(rows)}
        if "connections" in of and "partitions" in of:
            figure, (left, right) = pyplot.subplots(1, 2, figsize=(8.4, 3.4), sharey=True)
            _lines(left, of["connections"], 0, 1, "open connections")
            _lines(right, of["partitions"], 0, 1, "partitions in the cluster")
            left.set_ylabel("requests/s")
            left.set_ylim(bottom=0)
            _save(figure, "growth-requests.svg")
        if "partitions in the session" in of:
            figure, axes = pyplot.subplots(figsize=(6, 3.4))
            _lines(axes, of["partitions in the session"], 1, 1000, "partitions in the fetch session")
            axes.set_yscale("log")
            axes.set_ylim(0.05, 10)
            axes.minorticks_off()
            axes.yaxis.set_major_formatter("{x:g}")
            axes.set_ylabel("processor time, ms")
            _save(figure, "growth-sessions.svg")


def _units(rows: dict[str, Any]) -> list[str]:
    return sorted({row["of"] for row in rows.values()})


def _lines(axes: Any, rows: dict[str, Any], which: int, divisor: float, label: str) -> None:
    """Draw one figure of each row, the first or the second, over the sizes."""
    for color, (name, row) in zip(COLORS, rows.items(), strict=False):
        sizes = sorted(map(int, row["figures"]))
        values = [row["figures"][str(size)][which] / divisor for size in sizes]
        axes.plot(sizes, values, marker="o", color=color, label=name)
    axes.set_xscale("log")
    axes.set_xlabel(label)
    axes.yaxis.set_major_formatter("{x:,.0f}" if divisor == 1 else "{x:g}")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.minorticks_off()
    axes.grid(visible=True)
    axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.18))


def _save(figure: Any, name: str) -> None:
    IMAGES.mkdir(exist_ok=True)
    figure.savefig(IMAGES / name, transparent=True, bbox_inches="tight", metadata=METADATA)
    pyplot.close(figure)
    print(IMAGES / name)
