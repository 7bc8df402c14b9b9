"""Declares the rules of releases: the value that a rule has in each release, and one sentence for the documentation.

`since`, `until` and `between` declare rules that hold in some releases, and `changing` declares a rule whose value is
not a bool. They return a Rule but are annotated with the type of the value, like `dataclasses.field`: each `Release`
has the values of its rules as plain attributes.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar, cast

Version = tuple[int, ...]
T = TypeVar("T")

FIRST: Version = (0,)
KRAFT: Version = (3, 3)
"""The first release that runs without ZooKeeper: the one in which KRaft became production-ready."""


class Rule(NamedTuple):
    """A difference between releases. `values` maps the release that introduced each value to the value, oldest first.

    The sentence describes what is different where the value is True. In other rules, `{}` stands for the value.
    """

    sentence: str
    values: Mapping[Version, Any]

    def value_in(self, version: Version) -> Any:
        """Return the value in a release."""
        return [value for first, value in self.values.items() if first <= version][-1]


def since(major: int, minor: int, sentence: str) -> bool:
    """Declare a rule that holds in this release and all later ones."""
    return changing(sentence, {FIRST: False, (major, minor): True})


def until(major: int, minor: int, sentence: str) -> bool:
    """Declare a rule that holds in all releases before this one."""
    return changing(sentence, {FIRST: True, (major, minor): False})


def between(first: Version, end: Version, sentence: str) -> bool:
    """Declare a rule that holds in `first` and later releases, but no longer in `end`."""
    return changing(sentence, {FIRST: False, first: True, end: False})


def with_zookeeper(sentence: str) -> bool:
    """Declare a rule that holds in releases that run with ZooKeeper."""
    return changing(sentence, {FIRST: True, KRAFT: False})


def without_zookeeper(sentence: str) -> bool:
    """Declare a rule that holds in releases that run in KRaft mode."""
    return changing(sentence, {FIRST: False, KRAFT: True})


def changing(sentence: str, values: Mapping[Version, T]) -> T:
    """Declare a rule by its values, as in Rule."""
    return cast(T, Rule(sentence, values))
