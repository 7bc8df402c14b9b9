"""The text of source files, the help texts of commands, and the list of the recipes."""

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = {".go": "go", ".java": "java", ".js": "js", ".json": "json", ".xml": "xml"}
MODULES = {"kafkalet": "kafkalet", "kafkalet-spark": "kafkalet_spark.jobs"}
"""The modules of the commands."""
WIDTH = "88"
COOKBOOKS = {
    "pytest": "pytest",
    "unittest": "unittest",
    "asyncio": "asyncio",
    "java": "Java",
    "go": "Go",
    "node": "Node",
}
"""The pages of the cookbook, in the order of the columns. The first one has all recipes."""


def file(path: str) -> str:
    """Return the text of a file, or of one of its sections, as in `examples/go/orders_test.go:publish`.

    A section is between the lines with `--8<-- [start:publish]` and `--8<-- [end:publish]`.
    """
    name, _, section = path.partition(":")
    text = (ROOT / name).read_text(encoding="utf-8")
    if section:
        mark = rf"^[^\n]*--8<-- \[{{}}:{section}\]\n"
        found = re.search(mark.format("start") + "(.*?)" + mark.format("end"), text, re.MULTILINE | re.DOTALL)
        if found is None:
            raise ValueError(f"{name} has no section {section}")
        text = dedent(found[1])
    return f"```{LANGUAGES.get(Path(name).suffix, 'text')}\n{text.rstrip()}\n```"


def help_text(command: str, *words: str) -> str:
    """Return the help text of a command."""
    packages = (ROOT, ROOT / "conformance", ROOT / "spark")
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", MODULES[command], *words, "--help"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"COLUMNS": WIDTH, "PYTHONPATH": os.pathsep.join(map(str, packages))},
    )
    return f"```text\n{done.stdout.rstrip()}\n```"


def recipes() -> str:
    """Return a table of all recipes with links to the pages of the cookbook that have them."""
    texts = {name: (ROOT / "docs" / "cookbook" / f"{name}.md").read_text(encoding="utf-8") for name in COOKBOOKS}
    headings = {name: re.findall(r"^## (.+)$", text, re.MULTILINE) for name, text in texts.items()}
    lines = ["| recipe | pages |", "| --- | --- |"]
    for recipe in next(iter(headings.values())):
        anchor = re.sub(r"[^\w\- ]", "", recipe).lower().replace(" ", "-")
        links = [f"[{title}]({name}.md#{anchor})" for name, title in COOKBOOKS.items() if recipe in headings[name]]
        lines.append(f"| {recipe} | {', '.join(links)} |")
    return "\n".join(lines)
