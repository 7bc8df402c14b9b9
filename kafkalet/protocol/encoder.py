"""Generates `encode(o, out)` for one version of a message.

In the generated source, `w` appends a piece to the output list, and `n` holds lengths and counts. Unknown tagged fields
are never written, so the empty tag section of a struct without tagged fields is just a pad byte in the preceding
`struct` call.

A string of more than 32,767 bytes raises EncodeError, although a compact length can encode larger sizes, because
Kafka's generated writers and readers also reject such strings.
"""

from collections.abc import Callable
from struct import pack
from typing import Any, TypeAlias

from .fields import Field
from .source import Codec, layout
from .tags import ONE_BYTE, RUNTIME
from .wire import Chunk, Wire

Encode: TypeAlias = Callable[[Any, list[Chunk]], None]


def encoder(cls: Any, version: int) -> Encode:
    """Generate the function that encodes `version` of the message `cls`."""
    codec = _Encoder(version, version in cls.FLEXIBLE)
    codec.source("w = out.append")
    codec.struct(cls, "o")
    codec.flush()
    codec.source.values |= RUNTIME | {"ONE_BYTE": ONE_BYTE, "pack": pack}
    built: Encode = codec.source.build("encode(o, out)", f"{cls.__name__} v{version} encode")
    return built


class _Encoder(Codec):
    def __init__(self, version: int, flexible: bool) -> None:
        super().__init__(version, flexible)
        self.append, self.list = "w", "out"

    def write(self, expression: str, code: str) -> None:
        self.run.append((expression, code))

    def flush(self) -> None:
        if self.run:
            self.source(f"{self.append}({self.packed()})")

    def packed(self) -> str:
        expressions, codes = self.take_run()
        if not expressions:
            return repr(bytes(len(codes)))
        return f"{self.source.bind(f'pack_{codes}', layout(codes).pack)}({', '.join(expressions)})"

    def write_length(self, code: str) -> None:
        """Write the length stored in `n`. A length of -1 means null."""
        if self.flexible:
            self.flush()
            self.source("n += 1")
            self.source(f"{self.append}(ONE_BYTE[n] if n < 128 else write_uvarint(n))")
        else:
            self.write("n", code)
            self.flush()

    def struct(self, cls: type[Any], expression: str) -> None:
        inline, tagged, _ = self.split(cls.FIELDS)
        for field in inline:
            self.value(field, f"{expression}.{field.name}")
        if self.flexible:
            self.tags(tagged, expression)

    def value(self, field: Field, expression: str) -> None:
        if field.array:
            self.array(field, expression)
        elif field.struct:
            self.nested(field, field.struct, expression)
        elif field.wire and field.wire.code:
            self.write(expression, field.wire.code)
        else:
            assert field.wire is not None, "a field is an array, a struct, or has a wire type"
            self.sized(expression, field.wire, self.version in field.nullable)

    def sized(self, expression: str, wire: Wire, nullable: bool) -> None:
        encode = ".encode()" if wire.name == "string" else ""
        if nullable:
            self.source(f"b = {expression}")
            self.source("if b is None: b = b''; n = -1")
            self.source(f"else: b = b{encode}; n = len(b)" if encode else "else: n = len(b)")
        else:
            self.source(f"b = {expression}{encode}; n = len(b)")
        if wire.name == "string" and self.flexible:  # in other versions, `struct` rejects lengths above 32,767
            self.flush()
            self.source(f"{self.append}(ONE_BYTE[n + 1] if n < 127 else write_string_length(n))")
        else:
            self.write_length(wire.length)
        self.source(f"{self.append}(b)")

    def nested(self, field: Field, cls: type[Any], expression: str) -> None:
        if self.version not in field.nullable:
            self.struct(cls, expression)
            return
        self.flush()
        null = "\\xff" if field.tag is None else "\\0"
        self.source(f"if {expression} is None: {self.append}(b'{null}')")
        with self.source.block("else:"):
            self.write("1", "b")
            self.struct(cls, expression)
            self.flush()

    def array(self, field: Field, expression: str) -> None:
        self.level += 1
        items, item = f"a{self.level}", f"o{self.level}"
        self.source(f"{items} = {expression}")
        if self.version in field.nullable:
            self.source(f"if {items} is None: {items} = (); n = -1")
            self.source(f"else: n = len({items})")
        else:
            self.source(f"n = len({items})")
        self.write_length("i")
        if field.wire and field.wire.name == "uuid":
            self.source(f"{self.list} += {items}")
        elif field.wire and field.wire.code:
            self.source(f"{self.append}(pack(f'>{{len({items})}}{field.wire.code}', *{items}))")
        elif field.struct and (packed := self.fixed(field.struct, item)):
            self.source(f"{self.list} += [{packed} for {item} in {items}]")
        else:
            with self.source.block(f"for {item} in {items}:"):
                if field.struct:
                    self.struct(field.struct, item)
                else:
                    assert field.wire is not None
                    self.sized(item, field.wire, nullable=False)
                self.flush()
        self.level -= 1

    def fixed(self, cls: type[Any], expression: str) -> str:
        """Return the expression that packs a struct of fixed size, or "" for any other struct."""
        trial = type(self)(self.version, self.flexible)
        trial.struct(cls, expression)
        if trial.source.lines or not trial.run:
            return ""
        self.run += trial.run
        return self.packed()

    def tags(self, fields: list[Field], expression: str) -> None:
        """Write the tagged fields whose values differ from their defaults."""
        if not fields:
            self.write("", "x")
            return
        self.flush()
        self.source(f"if not ({' or '.join(self.given(field, expression) for field in fields)}): {self.append}(b'\\0')")
        with self.source.block("else:"):
            self.level += 1
            tags = self.tag_values(fields, expression)
            self.source(f"{self.append}(tag_section({tags}))")
            self.level -= 1

    def given(self, field: Field, expression: str) -> str:
        """Return the condition for writing a tagged field: its value differs from the default.

        A nullable struct is always written, because its default in Kafka is an empty struct, never null.
        """
        if field.struct and not field.array and self.version in field.nullable:
            return "True"
        return f"{expression}.{field.name} " + ("is not None" if field.default is None else f"!= {field.default!r}")

    def tag_values(self, fields: list[Field], expression: str) -> str:
        """Collect the tags to write, with their encoded values, in a list. Return the name of the list."""
        tags, pieces = f"t{self.level}", f"s{self.level}"
        outer = self.append, self.list
        self.source(f"{tags} = []")
        for field in fields:
            with self.source.block(f"if {self.given(field, expression)}:"):
                self.append, self.list = f"w{self.level}", pieces
                self.source(f"{pieces} = []; {self.append} = {pieces}.append")
                self.value(field, f"{expression}.{field.name}")
                self.flush()
                self.source(f"{tags}.append(({field.tag}, b''.join({pieces})))")
        self.append, self.list = outer
        return tags
