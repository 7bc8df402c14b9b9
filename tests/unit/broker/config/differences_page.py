"""Writes the differences between releases into docs/compatibility.md.

python -m tests.unit.broker.config.differences_page
"""

import sys
from itertools import pairwise

from kafkalet.broker.config.release import RULES
from kafkalet.broker.config.rule import FIRST, Rule, Version
from tests.pages import with_section
from tests.source import ROOT

PAGE = ROOT / "docs" / "compatibility.md"
COMMAND = "python -m tests.unit.broker.config.differences_page"
TITLE = "\n## Differences between releases\n"

OPENING = f"""
<!-- Written by `{COMMAND}` from the rules of releases; do not edit. -->

The emulated releases differ in their API versions and [properties](configuration.md), and as follows.

| Releases | Behavior |
| --- | --- |
"""


def rows(rule: Rule) -> list[tuple[Version, str]]:
    """Return the rows of a rule in the table, each with the release by which it is sorted."""
    found = []
    for (first, value), (end, _) in pairwise([*rule.values.items(), ((), None)]):
        if value is not False:
            start, border = ".".join(map(str, first)), ".".join(map(str, end))
            releases = f"before {border}" if first == FIRST else f"{start} to before {border}" if end else f"{start}+"
            sentence = rule.sentence.replace("{}", str(value))
            found.append((end if first == FIRST else first, f"| {releases} | {sentence} |\n"))
    return found


def section() -> str:
    """Return the text between the title of the section and the next one."""
    lines = sorted((row for rule in RULES.values() for row in rows(rule)), key=lambda row: row[0])
    return OPENING + "".join(line for _, line in lines)


def page(text: str) -> str:
    """Return the text of the page with the section as it should be."""
    return with_section(text, TITLE, section())


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"{PAGE.relative_to(ROOT)}\n")
