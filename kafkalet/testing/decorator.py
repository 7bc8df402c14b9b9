"""A decorator that gives each call of a function a new broker, for tests without fixtures.

@kafkalet.with_broker
def test_it(kafka): ...

@kafkalet.with_broker(version="3.9", topics={"orders": 6})
async def test_it(kafka): ...

@kafkalet.with_broker                    on a class: for each `test...` method with a parameter `kafka`
class TestOrders: ...
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Unpack, overload

from kafkalet.broker.arguments import check_names

from .broker_options import NAMES, ClusterOptions
from .lifetime import running

if TYPE_CHECKING:
    from .cluster import Cluster

Result = TypeVar("Result")
Class = TypeVar("Class", bound=type)

PARAMETER = "kafka"


class Decorator(Protocol):
    """Decorates a function or a class. The type of the decorated function has no parameters."""

    @overload
    def __call__(self, target: Class, /) -> Class: ...
    @overload
    def __call__(self, target: Callable[..., Result], /) -> Callable[..., Result]: ...


@overload
def with_broker(target: Class, /) -> Class: ...
@overload
def with_broker(target: Callable[..., Result], /) -> Callable[..., Result]: ...
@overload
def with_broker(**options: Unpack[ClusterOptions]) -> Decorator: ...
def with_broker(target: Any = None, /, **options: Any) -> Any:
    """Decorate a function, a coroutine function or a class: each call gets a new broker as the argument `kafka`.

    The options are those of `kafkalet.Cluster`. With `brokers=2` or more, `kafka` is a `Cluster`, otherwise a `Broker`.
    It stops when the call ends. An exception gets a note with a report about it.

    Raises TypeError for an unknown option, and if the function, or every `test...` method of the class, lacks the
    parameter `kafka`.
    """
    check_names("with_broker", options, NAMES)
    if target is not None:
        return _decorated(target, options)
    return lambda given: _decorated(given, options)


def _decorated(target: Any, options: dict[str, Any]) -> Any:
    if not isinstance(target, type):
        return _function(target, options)
    names = [
        name
        for name, member in vars(target).items()
        if name.startswith("test") and inspect.isfunction(member) and PARAMETER in inspect.signature(member).parameters
    ]
    if not names:
        raise TypeError(f"no method test... of {target.__qualname__} has a parameter {PARAMETER}, which is the broker")
    for name in names:
        setattr(target, name, _function(vars(target)[name], options))
    return target


def _function(function: Any, options: dict[str, Any]) -> Any:
    if not inspect.isfunction(function):
        raise TypeError(f"with_broker decorates a function or a class, not {function!r}")
    signature = inspect.signature(function)
    if PARAMETER not in signature.parameters:
        raise TypeError(f"{function.__qualname__} has no parameter {PARAMETER}, which is the broker")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(
            f"with_broker cannot decorate {function.__qualname__}, which is a generator; use "
            "`with kafkalet.Broker()` in it"
        )

    index = list(signature.parameters).index(PARAMETER)
    kind = signature.parameters[PARAMETER].kind

    def call_with(broker: Cluster, given: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call the function with the broker at its place among the positional arguments, or as a keyword."""
        is_before = len(given) > index and kind is not inspect.Parameter.KEYWORD_ONLY
        if is_before or kind is inspect.Parameter.POSITIONAL_ONLY:
            return function(*given[:index], broker, *given[index:], **keywords)
        return function(*given, **keywords, **{PARAMETER: broker})

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def call_async(*arguments: Any, **keywords: Any) -> Any:
            __tracebackhide__ = True
            with running(options) as broker:
                return await call_with(broker, arguments, keywords)

        wrapper: Any = call_async
    else:

        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            __tracebackhide__ = True
            with running(options) as broker:
                return call_with(broker, arguments, keywords)

        wrapper = call
    # Otherwise, pytest would take the parameter for its fixture.
    others = [parameter for name, parameter in signature.parameters.items() if name != PARAMETER]
    wrapper.__signature__ = signature.replace(parameters=others)
    return wrapper
