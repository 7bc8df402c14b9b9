"""The tables of options in docs/pipeline.md, from the rows from which kafkalet-spark parses them."""

from kafkalet_spark.commands.command_line import (
    COMMON,
    DUMP_INPUT,
    DUMP_OUTPUT,
    LOAD_COLUMNS,
    LOAD_INPUT,
    LOAD_OUTPUT,
)
from kafkalet_spark.option_table import AUDIT, FOLLOW, READ, WRITE

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
"""The tables of options of the data source; the others are options of commands."""


def table(name: str) -> str:
    """Return a table of options: one of TABLES."""
    lines = ["| option | default | |", "| --- | --- | --- |"]
    for option in TABLES[name]:
        title = option.name if name in OF_SPARK else f"{option.flag_name} {option.takes}".strip()
        default = "" if option.default is None else f"`{option.default}`"
        text = f"{option.help}. {option.more}" if option.more else option.help
        lines.append(f"| `{title}` | {default} | {text} |".replace("|  |", "| |"))
    return "\n".join(lines)
