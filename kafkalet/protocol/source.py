"""What both directions of the compiler share: Python source in the making, and runs of fixed-size fields."""

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
    """Python source in the making, and the values its names stand for."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.values: dict[str, Any] = {}
        self.depth = 1
        self.views = False
        """Whether the function needs `view`, the data as a memoryview."""

    def __call__(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def block(self, head: str) -> Generator[None, None, None]:
        self(head)
        self.depth += 1
        yield
        self.depth -= 1

    def bind(self, name: str, value: Any) -> str:
        """Give `value` a name in the source, and return it."""
        name = name.replace("?", "o")
        while self.values.setdefault(name, value) != value:
            name += "_"
        return name

    def build(self, signature: str, title: str) -> Any:
        """Compile the function. Its lines are found by tracebacks, and by `source()`, under its title."""
        head = [f"def {signature}:"] + ["    view = memoryview(data)"] * self.views
        text = "\n".join(head + self.lines) + "\n"
        filename = f"<kafkalet {title}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        exec(compile(text, filename, "exec"), self.values)  # noqa: S102 - see the compiler: only our declarations
        return self.values[signature.partition("(")[0]]


def source(function: Callable[..., Any]) -> str:
    """The source of a compiled function."""
    return "".join(linecache.getlines(function.__code__.co_filename))


class Codec:
    """One direction of one version: its source, and the run of fixed-size fields that will be one `struct` call."""

    def __init__(self, version: int, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.source = Source()
        self.run: list[tuple[str, str]] = []  # (expression, struct code)
        self.level = 0  # how deep in arrays and structs, which numbers the variables

    def take_run(self) -> tuple[list[str], str]:
        expressions = [expression for expression, code in self.run if code != "x"]
        codes = "".join(code for _, code in self.run)
        self.run.clear()
        return expressions, codes

    def split(self, fields: Sequence[Field]) -> tuple[list[Field], list[Field], list[Field]]:
        """The fields in line, the tagged ones, and those that this version lacks."""
        here = [field for field in fields if self.version in field.versions]
        tagged = sorted((field for field in here if field.tag is not None), key=lambda field: field.tag or 0)
        inline = [field for field in here if field.tag is None]
        return inline, tagged, [field for field in fields if self.version not in field.versions]
