"""Generates `decode(data, p)` for one version of a message.

In the generated source, `p` is the current position in `data`, and `n` holds lengths and counts. Reading a fixed-size
value past the end of the data raises an exception, so it needs no explicit check. Slicing past the end does not raise
one; instead, the final position is compared with the length of the data, once per message. A large count does not cause
memory to be allocated before its elements are known to exist.

The decoder is as lenient as Kafka's: any negative length means null for a nullable field, invalid UTF-8 is replaced
(see `text`), unknown tagged fields are skipped, and data after the message is ignored. Like Kafka's generated readers,
it rejects strings of more than 32,767 bytes, although a compact length can encode larger sizes.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from struct import unpack_from
from typing import Any, TypeAlias

from .errors import DecodeError
from .fields import Field
from .source import Codec, layout
from .tags import RUNTIME, Frame
from .text import MAX_STRING_BYTES, REPLACE
from .wire import Wire

Decode: TypeAlias = Callable[[Frame, int], tuple[Any, int]]


def decoder(cls: Any, version: int) -> Decode:
    """Generate the function that decodes `version` of the message `cls`."""
    codec = _Decoder(version, version in cls.FLEXIBLE)
    codec.struct(cls, "o")
    codec.source("return o, p")
    codec.source.values |= RUNTIME | {"new": object.__new__, "unpack_from": unpack_from, "DecodeError": DecodeError}
    built: Decode = codec.source.build("decode(data, p)", f"{cls.__name__} v{version} decode")
    return built


class _Decoder(Codec):
    def read(self, target: str, code: str) -> None:
        self.run.append((target, code))

    def flush(self) -> None:
        if not self.run:
            return
        targets, codes = self.take_run()
        if codes == "B":
            self.source(f"{targets[0]} = data[p]; p += 1")
            return
        unpack = self.source.bind(f"unpack_{codes}", layout(codes).unpack_from)
        self.source(f"{', '.join(targets)}{',' * (len(targets) == 1)} = {unpack}(data, p); p += {layout(codes).size}")

    def read_length(self, code: str) -> None:
        """Read a length into `n`. A negative length means null."""
        if self.flexible:
            self.read("n", "B")
            self.flush()
            self.source("if n > 127: n, p = read_uvarint(data, p - 1)")
            self.source("n -= 1")
        else:
            self.read("n", code)
            self.flush()

    def read_size(self, field: Field, wire: Wire) -> None:
        """Read the length of a string, bytes or records field into `n`."""
        if not (self.flexible and wire.name == "string"):
            self.read_length(wire.length)
            return
        self.read("n", "B")
        self.flush()
        with self.source.block("if n > 127:"):  # false for most strings, which skip the second comparison
            self.source("n, p = read_uvarint(data, p - 1)")
            self.source(
                f"if n > {MAX_STRING_BYTES + 1}: raise DecodeError(f'{field.name} of length {{n - 1}}; "
                f"at most {MAX_STRING_BYTES} is allowed')"
            )
        self.source("n -= 1")

    @contextmanager
    def unless_null(self, field: Field, target: str) -> Generator[None, None, None]:
        if self.version in field.nullable:
            self.source(f"if n < 0: {target} = None")  # any negative length means null, as in Kafka's readers
            with self.source.block("else:"):
                yield
        else:
            self.refuse_negative(field)
            yield

    def refuse_negative(self, field: Field) -> None:
        self.source(f"if n < 0: raise DecodeError(f'{field.name} of length {{n}}')")

    def struct(self, cls: type[Any], target: str) -> None:
        """Create an instance, assign it to `target` and decode its fields."""
        inline, tagged, absent = self.split(cls.FIELDS)
        self.source(f"{target} = new({self.source.bind(cls.__name__, cls)})")
        for field in absent + tagged:
            self.source(f"{target}.{field.name} = {field.default!r}")
        for field in inline:
            self.value(field, f"{target}.{field.name}")
        if self.flexible:
            self.tags(tagged, target)
        self.flush()

    def value(self, field: Field, target: str) -> None:
        if field.array:
            self.read_length("i")
            with self.unless_null(field, target):
                self.array(field, target)
        elif field.struct:
            self.nested(field, field.struct, target)
        elif field.wire and field.wire.code:
            self.read(target, field.wire.code)
        else:
            assert field.wire is not None, "a field is an array, a struct, or has a wire type"
            self.read_size(field, field.wire)
            with self.unless_null(field, target):
                self.sized(field.wire.name, target)

    def sized(self, kind: str, target: str) -> None:
        match kind:
            case "string":
                # Invalid UTF-8 is replaced as in Java. Many strings are empty, and a test for that is fast.
                self.source(f"{target} = data[p:(p := p + n)].decode('utf-8', {REPLACE!r}) if n else ''")
            case "bytes":
                self.source(f"{target} = bytes(data[p:(p := p + n)])")
            case _:  # records
                self.source.views = True
                self.source(f"{target} = view[p:(p := p + n)]")

    def nested(self, field: Field, cls: type[Any], target: str) -> None:
        self.flush()
        self.level += 1
        inner = f"o{self.level}"
        if self.version in field.nullable:  # KIP-893: a preceding byte is negative if the struct is null
            self.source("n = data[p]; p += 1")
            self.source(f"if {'n > 127' if field.tag is None else 'n == 0'}: {target} = None")
            with self.source.block("else:"):
                self.struct(cls, inner)
                self.source(f"{target} = {inner}")
        else:
            self.struct(cls, inner)
            self.source(f"{target} = {inner}")
        self.level -= 1

    def array(self, field: Field, target: str) -> None:
        if field.wire and field.wire.code:
            self.fixed_array(field.wire.code, target)
            return
        self.level += 1
        self.source(f"{target} = a{self.level} = []")
        with self.source.block("for _ in range(n):"):
            element = f"o{self.level}"
            if field.struct:
                self.struct(field.struct, element)
            else:
                assert field.wire is not None
                self.read_size(field, field.wire)
                self.refuse_negative(field)
                self.sized(field.wire.name, element)
            self.source(f"a{self.level}.append({element})")
        self.level -= 1

    def fixed_array(self, code: str, target: str) -> None:
        size = layout(code).size
        self.source(f"if n * {size} > len(data) - p: raise DecodeError(f'{{n}} elements do not fit')")
        if code == "16s":  # `struct` formats cannot repeat '16s'
            self.source(f"{target} = [bytes(data[at : at + 16]) for at in range(p, p + n * 16, 16)]; p += n * 16")
        else:
            self.source(f"{target} = list(unpack_from(f'>{{n}}{code}', data, p)); p += n * {size}")

    def tags(self, fields: list[Field], target: str) -> None:
        self.read("n", "B")
        self.flush()
        with self.source.block("if n:"):
            if not fields:
                self.source("p = skip_tags(data, p - 1)")
                return
            end = f"end{self.level}"
            self.source("n, p = read_uvarint(data, p - 1)")
            with self.source.block("for _ in range(n):"):
                self.source(f"tag, p, {end} = read_tag(data, p)")
                word = "if"
                for field in fields:
                    with self.source.block(f"{word} tag == {field.tag}:"):
                        self.value(field, f"{target}.{field.name}")
                        self.flush()
                        self.source(f"check_tag({field.tag}, p, {end})")
                    word = "elif"
                with self.source.block("else:"):
                    self.source(f"p = {end}")
