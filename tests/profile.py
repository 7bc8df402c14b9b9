"""The number of examples that a property test tries, in proportion to the profile of Hypothesis (conftest.py)."""

from hypothesis import settings


def examples(factor: float) -> int:
    """Return `factor` times the number of examples of the profile: 100, unless the command line chooses another one."""
    return max(1, round(settings().max_examples * factor))
