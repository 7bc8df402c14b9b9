"""Support for rules about many modules: each rule is one test that reports every module that violates it."""

import traceback
from collections.abc import Callable, Iterable
from typing import Any


def for_every(things: Iterable[Any], name_of: Callable[[Any], str] = str) -> Callable[[Callable[[Any], None]], Any]:
    """Turn a function that asserts something about a single thing into one test over all `things`."""
    things = list(things)
    assert things, "a rule without things to check cannot fail"

    def decorate(rule: Callable[[Any], None]) -> Callable[[], None]:
        def test() -> None:
            broken = []
            for thing in things:
                try:
                    rule(thing)
                except AssertionError as error:
                    broken.append(f"{name_of(thing)}: {error}")
                except Exception as error:  # noqa: BLE001 - report it and check the remaining things
                    place = traceback.extract_tb(error.__traceback__)[-1]
                    broken.append(f"{name_of(thing)}: {error!r} at {place.filename}:{place.lineno}")
            if broken:
                raise AssertionError("\n".join([f"{len(broken)} of {len(things)} violate the rule", *broken]))

        test.__name__ = rule.__name__
        test.__qualname__ = rule.__qualname__
        test.__doc__ = rule.__doc__
        test.__module__ = rule.__module__
        return test

    return decorate
