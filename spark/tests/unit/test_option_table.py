"""`kafkalet_spark.option_table`: the rows from which parsing, flags, --help and the documentation are derived."""

from collections.abc import Iterable

import pytest

from kafkalet_spark.commands.command_line import (
    COMMON,
    DUMP_INPUT,
    DUMP_OUTPUT,
    LOAD_COLUMNS,
    LOAD_INPUT,
    LOAD_OUTPUT,
)
from kafkalet_spark.option_table import AUDIT, FOLLOW, READ, WRITE
from kafkalet_spark.option_types import Option
from tests.source import ROOT

DOCUMENT = ROOT / "docs" / "pipeline.md"
TABLES = {
    "READ": READ,
    "FOLLOW": FOLLOW,
    "WRITE": WRITE,
    "COMMON": COMMON,
    "LOAD": LOAD_INPUT + LOAD_COLUMNS + LOAD_OUTPUT,
    "DUMP": DUMP_INPUT + DUMP_OUTPUT,
    "AUDIT": AUDIT,
}
OF_SPARK = {"READ", "FOLLOW", "WRITE"}


def documented(options: Iterable[Option], *, as_flags: bool) -> str:
    """Return the table in docs/pipeline.md."""
    lines = ["| option | default | |", "|---|---|---|"]
    for option in options:
        name = f"{option.flag_name} {option.takes}".strip() if as_flags else option.name
        default = "" if option.default is None else f"`{option.default}`"
        text = f"{option.help}. {option.more}" if option.more else option.help
        lines.append(" | ".join(("| `" + name + "`", default, text + " |")).replace("|  |", "| |"))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", TABLES)
def test_documentation_has_the_table_of_options(name: str) -> None:
    table = documented(TABLES[name], as_flags=name not in OF_SPARK)
    assert table in DOCUMENT.read_text(), f"docs/pipeline.md has another table of {name}; it should be:\n\n{table}"


@pytest.mark.parametrize("name", TABLES)
def test_no_option_is_declared_twice(name: str) -> None:
    names = [option.name.lower() for option in TABLES[name]]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("option", [option for table in TABLES.values() for option in table], ids=lambda o: o.name)
def test_default_is_a_valid_value(option: Option) -> None:
    assert (option.default is None) == (option.default_value is None)
    assert not option.choices or option.default in option.choices
