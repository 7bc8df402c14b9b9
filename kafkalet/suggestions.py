"""Suggestions in the messages about misspelled names."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches


def did_you_mean(
    given: object,
    known: Iterable[str],
    *,
    most: int = 1,
    cutoff: float = 0.6,
    shown: Callable[[str], str] = repr,
) -> str:
    """Return a question with the `most` closest names, as in "did you mean 'gap'?", or "" if none is close.

    Case does not matter. `cutoff` is the minimum similarity, from 0 to 1, and `shown` formats a name.
    """
    by_lower, lower = {name.lower(): name for name in known}, str(given).lower()
    close = [by_lower[lower]] if lower in by_lower else []
    close = close or [by_lower[name] for name in get_close_matches(lower, by_lower, most, cutoff)]
    return f"did you mean {' or '.join(map(shown, close))}?" if close else ""
