"""The text format of tables of broker properties: one property, or one variant of a property, per line.

    name  type  default  [effective]  [update mode]  [>=minimum]  [releases]
        Documentation of the property, which may continue on further indented lines.

default       `null` for no default, `''` for an empty default
effective     marks a property that has an effect in kafkalet
update mode   read-only if missing
>=minimum     the smallest allowed value; given only for dynamic properties
releases      `3.0-4.0` for releases from 3.0 and before 4.0, `4.1+` for 4.1 and later; all releases if missing

`hidden` marks an internal property of Kafka, which is described only if it is set. A property that changed between
releases has several lines, which share the documentation below the last one. A line that begins with `#` is a comment.

Parsing a text takes less time at startup than importing the same table as Python objects.
"""

from kafkalet.properties import Declaration, Property, Type, Update, Version, at_least

_UPDATES = {update.value for update in Update}


def parse_table(table: str) -> list[Declaration]:
    """Parse a table. A property that changed between releases has several declarations."""
    rows: list[Declaration] = []
    first = 0  # the first declaration of the last property
    for line in table.splitlines():
        words = line.split()
        if not words or words[0] == "#":
            continue
        if line.startswith(" "):
            for place in range(first, len(rows)):
                text = f"{rows[place].documentation} {' '.join(words)}".lstrip()
                rows[place] = rows[place]._replace(documentation=text)
            continue
        if not rows or rows[-1].name != words[0]:
            first = len(rows)
        rows.append(_declaration(*words))
    return rows


def _declaration(name: str, type_: str, default: str, *options: str) -> Declaration:
    text = None if default == "null" else default.strip("'")
    check, update, is_hidden, affects = None, Update.READ_ONLY, False, ""
    since: Version = (0,)
    until: Version = (99,)
    for word in options:
        if word in _UPDATES:
            update = Update(word)
        elif word.startswith(">="):
            check = at_least(int(word[2:]))
        elif word == "hidden":
            is_hidden = True
        elif word == "effective":
            affects = "given"
        else:
            first, _, last = word.rstrip("+").partition("-")
            since, until = _version(first), _version(last) if last else until
    declared = Property(name, Type[type_], text, check)
    return Declaration(declared, "", affects, update, since, until, is_hidden=is_hidden)


def _version(text: str) -> Version:
    return tuple(int(part) for part in text.split("."))
