"""Code generation shared by the encoder and the decoder: Python source, and runs of fixed-size fields."""

import linecache
import struct
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from .fields import Field


@cache
def layout(codes: str) -> struct.Struct:
    return struct.Struct(">" + codes)


class Source:
    """The source of a function that is being generated, and the values of its globals."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.values: dict[str, Any] = {}
        self.depth = 1
        self.views = False
        """Whether the function needs `view`, a memoryview of the data."""

    def __call__(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def block(self, head: str) -> Generator[None, None, None]:
        self(head)
        self.depth += 1
        yield
        self.depth -= 1

    def bind(self, name: str, value: Any) -> str:
        """Bind `value` to a global name of the function, and return the name."""
        name = name.replace("?", "o")
        while self.values.setdefault(name, value) != value:
            name += "_"
        return name

    def build(self, signature: str, title: str) -> Any:
        """Compile the function. Its lines are put into the linecache, where tracebacks and `source()` find them."""
        head = [f"def {signature}:"] + ["    view = memoryview(data)"] * self.views
        text = "\n".join(head + self.lines) + "\n"
        filename = f"<kafkalet {title}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        exec(compile(text, filename, "exec"), self.values)  # noqa: S102 - generated from our declarations only
        return self.values[signature.partition("(")[0]]


def source(function: Callable[..., Any]) -> str:
    """Return the generated source of a compiled function."""
    return "".join(linecache.getlines(function.__code__.co_filename))


class Codec:
    """Base class of the encoder and the decoder of one version of a message.

    It collects consecutive fixed-size fields in `run`, which becomes a single `struct` call.
    """

    def __init__(self, version: int, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.source = Source()
        self.run: list[tuple[str, str]] = []  # (expression, struct code)
        self.level = 0  # the nesting depth of arrays and structs, used to number the variables

    def take_run(self) -> tuple[list[str], str]:
        expressions = [expression for expression, code in self.run if code != "x"]
        codes = "".join(code for _, code in self.run)
        self.run.clear()
        return expressions, codes

    def split(self, fields: Sequence[Field]) -> tuple[list[Field], list[Field], list[Field]]:
        """Return three lists: regular fields, tagged fields, and fields that this version does not have."""
        here = [field for field in fields if self.version in field.versions]
        tagged = sorted((field for field in here if field.tag is not None), key=lambda field: field.tag or 0)
        inline = [field for field in here if field.tag is None]
        return inline, tagged, [field for field in fields if self.version not in field.versions]
