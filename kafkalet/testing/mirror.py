"""Asynchronous classes, derived from those of the kit: their methods run in worker threads and are awaited.

    class Topic(Mirror, of=topic.Topic, direct="log"):
        '''A topic.'''

A mirror has the public names of its class. Properties and `direct` methods, which only return an object, are used
without `await`. Results that have a mirror are returned as mirrors.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Self, TypeVar

from .waiting import cancelled

if TYPE_CHECKING:
    from .cluster import Cluster

T = TypeVar("T")

MIRRORS: dict[type, type[Mirror]] = {}
"""The mirror of each class of the kit."""
CONDITION = "Hold"
"""The class of the kit that lasts until the end of a `with` block."""
COLLECTION = ("__iter__", "__len__", "__contains__", "__getitem__")


class Mirror:
    """An object of the kit with awaitable methods."""

    _of: ClassVar[type]
    """The class of the kit."""
    _direct: ClassVar[frozenset[str]] = frozenset()
    """The methods that are not awaited."""

    def __init_subclass__(cls, of: type | None = None, direct: str = "", without: str = "") -> None:
        """`direct` and `without` are names: methods that are not awaited, and members that the mirror lacks."""
        if of is None:
            return
        MIRRORS[of] = cls
        cls._of = of
        cls._direct |= {*direct.split(), *COLLECTION}
        public = [name for name in dir(of) if not name.startswith("_") and name not in without.split()]
        for name in (*public, *(each for each in COLLECTION if hasattr(of, each))):
            if not hasattr(cls, name):
                setattr(cls, name, _mirrored(inspect.getattr_static(of, name), name, cls._direct))

    def __init__(self, cluster: Cluster, mirrored: Any) -> None:
        self._cluster = cluster
        self.sync = mirrored
        """The object of the synchronous kit."""

    if not TYPE_CHECKING:  # the stub lists the attributes

        def __getattr__(self, name: str) -> Any:
            """Return an attribute that the synchronous object sets itself."""
            if name.startswith("_") or name == "sync":
                raise AttributeError(name)
            return self._result(getattr(self.sync, name))

        def __enter__(self) -> NoReturn:
            raise TypeError(f"a {type(self).__name__} of kafkalet.aio needs `async with` instead of `with`")

        def __exit__(self, *error: object) -> None: ...

    def __repr__(self) -> str:
        return repr(self.sync)

    async def __aenter__(self) -> Self:
        await self._enter("enter")
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._enter("exit", *error)

    async def _enter(self, name: str, *error: object) -> None:
        """Enter or leave the context of the synchronous object, which may itself be an asynchronous context manager."""
        if hasattr(self.sync, f"__a{name}__"):
            await getattr(self.sync, f"__a{name}__")(*error)
        else:
            await in_thread(self._cluster, partial(getattr(self.sync, f"__{name}__"), *error))

    def _result(self, value: Any) -> Any:
        """Return a result as a mirror if there is one of its class."""
        if value is self.sync:
            return self
        if isinstance(value, list | tuple) and type(value) in (list, tuple):
            return type(value)(map(self._result, value))
        mirror = next((MIRRORS[kind] for kind in type(value).__mro__ if kind in MIRRORS), None)
        return value if mirror is None else mirror(self._cluster, value)


def _mirrored(member: Any, name: str, direct: frozenset[str]) -> Any:
    """Return a property or a method that forwards to the synchronous object."""
    if isinstance(member, property):

        def get(self: Mirror) -> Any:
            return self._result(getattr(self.sync, name))

        def put(self: Mirror, value: Any) -> None:
            setattr(self.sync, name, value)

        return property(get, put if member.fset is not None else None, doc=member.__doc__)
    if not inspect.isfunction(member):
        return member
    if name in direct:

        @wraps(member)
        def call(self: Mirror, /, *args: Any, **options: Any) -> Any:
            return self._result(getattr(self.sync, name)(*args, **options))

        return call

    @wraps(member)
    async def awaited(self: Mirror, /, *args: Any, **options: Any) -> Any:
        return self._result(await in_thread(self._cluster, partial(getattr(self.sync, name), *args, **options)))

    if member.__annotations__.get("return") != CONDITION:
        return awaited

    @wraps(member)
    def begun(self: Mirror, /, *args: Any, **options: Any) -> Begun[Any]:
        return Begun(awaited(self, *args, **options))

    return begun


class Begun(Generic[T]):
    """A call that begins a condition: it is awaited, or used with `async with`, which also ends the condition."""

    def __init__(self, call: Coroutine[Any, Any, T]) -> None:
        self._call = call

    def __await__(self) -> Generator[Any, Any, T]:
        return self._call.__await__()

    async def __aenter__(self) -> T:
        self._condition = await self._call
        return self._condition

    async def __aexit__(self, *error: object) -> None:
        condition: Any = self._condition
        await condition.__aexit__(*error)


async def in_thread(cluster: Cluster, function: Callable[[], T]) -> T:
    """Run `function` in a new thread and return its result.

    The threads of the loop's default executor are few, and the code under test may need them. If the task is cancelled,
    a wait in `function` ends.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    stop = threading.Event()
    context = contextvars.copy_context()
    context.run(cancelled.set, stop)

    def settle(value: Any, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is None:
            future.set_result(value)
        elif isinstance(error, StopIteration):  # futures do not accept StopIteration
            wrapped = RuntimeError("a function that was called in a worker thread raised StopIteration")
            wrapped.__cause__ = error
            future.set_exception(wrapped)
        else:
            future.set_exception(error)

    def run() -> None:
        value, failure = None, None
        try:
            value = context.run(function)
        except BaseException as error:  # noqa: BLE001 - raised again in the task
            failure = error
        with suppress(RuntimeError):  # the loop has been closed
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=run, name="kafkalet-aio", daemon=True).start()
    try:
        return await future
    except asyncio.CancelledError:
        stop.set()
        cluster._server.watchers.touch()
        raise
