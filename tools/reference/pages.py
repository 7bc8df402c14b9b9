"""The pages with generated parts, and the functions that return these parts."""

import re
from collections.abc import Callable
from pathlib import Path

from . import (
    api,
    configuration,
    kafka_tests,
    recorded_errors,
    releases,
    rules,
    scenarios,
    sources,
    spark_options,
    states,
)

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "python -m tools.reference"
BLOCKS: dict[str, Callable[..., str]] = {
    "alias": api.alias,
    "class": api.class_,
    "docstring": api.docstring,
    "function": api.function,
    "file": sources.file,
    "help": sources.help_text,
    "properties": configuration.properties,
    "releases": releases.names,
    "differences": releases.differences,
    "served": releases.served,
    "spark-options": spark_options.table,
    "states": states.states,
    "rules": rules.table,
    "recipes": sources.recipes,
    "scenarios": scenarios.text,
    "errors": recorded_errors.text,
    "kafka-tests": kafka_tests.text,
}
"""The words after `generated:`, and the functions that they call with the words that follow."""
BLOCK = re.compile(r"^<!-- generated: ([^\n]+) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """Return the pages with generated parts."""
    found = sorted((ROOT / "docs").rglob("*.md"))
    return [page for page in found if "<!-- generated: " in page.read_text(encoding="utf-8")]


def up_to_date(text: str) -> str:
    """Return the text of a page, with its generated parts brought up to date."""
    return BLOCK.sub(lambda block: f"<!-- generated: {block[1]} -->\n{_content(block[1])}\n<!-- end -->", text)


def _content(words: str) -> str:
    name, *arguments = words.split()
    content = BLOCKS[name](*arguments).strip("\n")
    is_code = content.startswith("```") and content.find("```", 3) == len(content) - 3
    return content if is_code else f"\n{content}\n"
