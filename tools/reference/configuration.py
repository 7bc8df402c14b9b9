"""The tables of properties in docs/configuration.md."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from kafkalet.broker.config.broker_properties import BROKER_PROPERTIES, READ_AS_GIVEN, TOPIC_DEFAULTS, topic_defaults_of
from kafkalet.broker.config.client_metrics import PROPERTIES
from kafkalet.broker.config.documentation import documentation_of
from kafkalet.broker.config.group_properties import GROUP_PROPERTIES
from kafkalet.broker.config.security_properties import authorizer_properties
from kafkalet.broker.config.security_properties import declarations as security_declarations
from kafkalet.broker.config.without_effect import declarations
from kafkalet.properties import Check, Declaration, Range, Version, Words
from kafkalet.storage.topic_properties import TOPIC_PROPERTIES


def properties(table: str) -> str:
    """Return a table of properties: one of TABLES."""
    return TABLES[table]()


def _brokers() -> str:
    rows = [*BROKER_PROPERTIES.values(), *READ_AS_GIVEN.values()]
    return _table(rows, _name, _documentation, _default, _type, _allowed, _update, _releases)


def _security(is_effective: bool) -> str:
    rows = [*security_declarations(), *authorizer_properties().values()]
    return _merged((row for row in rows if bool(row.affects) is is_effective), _documentation)


def _defaults_of_topics() -> str:
    same_name = ", ".join(f"`{default.name}`" for default in TOPIC_DEFAULTS.values() if default.name == default.topic)
    others = [_default_of_topics(default.name) for default in TOPIC_DEFAULTS.values() if default.name != default.topic]
    table = _table(others, _name, _for_topics, _default, _type, _update)
    return f"These are named as the topic property: {same_name}.\n\n{table}"


def _topics(is_effective: bool) -> str:
    rows = [row for row in TOPIC_PROPERTIES.values() if bool(row.affects) is is_effective]
    return _table(rows, _name, _documentation, _default, _type, _allowed, _releases)


def _groups() -> str:
    rows = [known.row for known in GROUP_PROPERTIES]
    return _table(rows, _name, _documentation, _default, _type, _allowed, _releases)


TABLES: dict[str, Callable[[], str]] = {
    "brokers": _brokers,
    "security": lambda: _security(is_effective=True),
    "security-without-effect": lambda: _security(is_effective=False),
    "defaults-of-topics": _defaults_of_topics,
    "topics": lambda: _topics(is_effective=True),
    "topics-without-effect": lambda: _topics(is_effective=False),
    "groups": _groups,
    "client-metrics": lambda: _table(PROPERTIES.values(), _name, _documentation, _default, _type),
    "without-effect": lambda: _merged(row for row in declarations() if not row.is_hidden),
}


Cell = Callable[[Declaration], str]


def _name(row: Declaration) -> str:
    return f"`{row.name}`" + (" *hidden*" if row.is_hidden else "")


def _type(row: Declaration) -> str:
    return row.declared.type.name.lower()


def _default(row: Declaration) -> str:
    earlier = [(until, different["default"]) for until, different in row.before.items() if "default" in different]
    return "; ".join(
        [_shown(row.declared.default), *(f"before {_number(until)} {_shown(value)}" for until, value in earlier[::-1])]
    )


def _allowed(row: Declaration) -> str:
    newest = _check(row.declared.check)
    earlier = [(until, _check(different["check"])) for until, different in row.before.items() if "check" in different]
    return "; ".join([newest, *(f"before {_number(until)} {check}" for until, check in earlier if check != newest)])


def _update(row: Declaration) -> str:
    return row.update.value


def _releases(row: Declaration) -> str:
    if row.until < (99,):
        return (
            f"before {_number(row.until)}"
            if row.since == (0,)
            else f"{_number(row.since)} to before {_number(row.until)}"
        )
    return "" if row.since == (0,) else f"{_number(row.since)}+"


def _documentation(row: Declaration) -> str:
    return row.documentation


def _for_topics(row: Declaration) -> str:
    return documentation_of(row.name)


def _default_of_topics(name: str) -> Declaration:
    return next(table[name] for table in map(topic_defaults_of, ((4, 4), (3, 9))) if name in table)


def _merged(rows: Iterable[Declaration], *more: Cell) -> str:
    """Build a table with one line per property. Cells list the variants that differ between releases."""
    by_name = groupby(sorted(rows, key=lambda row: row.name), lambda row: row.name)
    lines = []
    for name, variants in ((name, list(group)) for name, group in by_name):
        cells = [f"`{name}`"]
        for cell in (*more, _type, _default, _update, _releases):
            texts = dict.fromkeys(cell(row) for row in variants)
            cells.append(next(iter(texts)) if len(texts) == 1 else "; ".join(cell(row) for row in variants))
        lines.append(cells)
    titles = [TITLES[cell] for cell in (_name, *more, _type, _default, _update, _releases)]
    return _lines(titles, lines)


TITLES: dict[Cell, str] = {
    _name: "Property",
    _type: "Type",
    _default: "Default",
    _allowed: "Allowed",
    _update: "Update",
    _releases: "Releases",
    _documentation: "Description",
    _for_topics: "Description",
}


def _table(rows: Iterable[Declaration], *cells: Cell) -> str:
    ordered = sorted(rows, key=lambda row: row.name)
    return _lines([TITLES[cell] for cell in cells], [[cell(row) for cell in cells] for row in ordered])


def _lines(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (titles, ["---"] * len(titles), *rows))


def _shown(default: str | None) -> str:
    return "none" if default is None else f"`{default}`" if default else "empty"


def _check(check: Check | None) -> str:
    if isinstance(check, Range | Words):
        return str(check)
    return (check.__doc__ or "").partition("\n")[0].rstrip(".") if check else ""


def _number(version: Version) -> str:
    return ".".join(str(part) for part in version)
