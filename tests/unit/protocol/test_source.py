import struct

from kafkalet.protocol.fields import NEVER, REQUIRED, Field, Versions
from kafkalet.protocol.source import Codec, Source, layout, source


def test_layouts_are_big_endian_and_cached() -> None:
    assert layout("ihq").size == 14
    assert layout("ihq") is layout("ihq")


def test_lines_are_indented_by_their_blocks() -> None:
    text = Source()
    with text.block("if x:"):
        text("return 1")
    text("return 2")
    built = text.build("choose(x)", "a choice")
    assert source(built) == "def choose(x):\n    if x:\n        return 1\n    return 2\n"
    assert (built(True), built(False)) == (1, 2)


def test_each_name_is_bound_to_one_value() -> None:
    text = Source()
    assert text.bind("Topic", int) == "Topic"
    assert text.bind("Topic", int) == "Topic"
    assert text.bind("Topic", str) == "Topic_"


def test_names_of_layouts_are_identifiers() -> None:
    assert Source().bind("pack_i?x", struct.pack) == "pack_iox"


def test_taking_a_run_clears_it_and_pads_have_no_expression() -> None:
    codec = Codec(0, flexible=True)
    codec.run += [("a", "i"), ("", "x"), ("b", "q")]
    assert codec.take_run() == (["a", "b"], "ixq")
    assert codec.take_run() == ([], "")


def test_fields_are_split_into_regular_tagged_and_absent() -> None:
    def named(name: str, versions: str, tag: int | None = None) -> Field:
        return Field(name, None, None, False, Versions.parse(versions), NEVER, tag, REQUIRED)

    plain, late, second, first = named("a", "0+"), named("b", "5+"), named("c", "1+", 1), named("d", "1+", 0)
    assert Codec(3, flexible=True).split([plain, late, second, first]) == ([plain], [first, second], [late])
