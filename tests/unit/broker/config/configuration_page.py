"""Writes docs/configuration.md from the tables of properties.

python -m tests.unit.broker.config.configuration_page
"""

import sys
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
from tests.source import ROOT

PAGE = ROOT / "docs" / "configuration.md"
COMMAND = "python -m tests.unit.broker.config.configuration_page"

OPENING = f"""---
hide: [toc]
---

# Configuration

<!-- Written by `{COMMAND}` from the tables of properties; do not edit. -->

kafkalet uses Kafka's property names. `kafkalet serve --set name=value`, `--config server.properties` and
`Broker(config={{...}})` set the static values of a broker; AlterConfigs and IncrementalAlterConfigs change values while
it runs. The first of these values applies: set for one broker, set for the whole cluster, static, default. A property
name that the emulated release does not know causes a warning for a broker, and an error for a topic, a group or a
client metrics subscription.

- [Brokers](#brokers), [listeners and security](#listeners-and-security), [defaults of topics](#defaults-of-topics),
  [topics](#topics), [groups](#groups), [client metrics subscriptions](#client-metrics-subscriptions),
  [accepted without effect](#brokers-accepted-without-effect)

*Update* is Kafka's update mode. A `read-only` property is fixed at startup, a `per-broker` property can be changed for
one broker, and a `cluster-wide` property also for all brokers. *Releases* are the emulated releases that describe the
property; an empty cell means all of them. A broker accepts every property that takes effect in some release. If a
default is different in earlier releases, the newest one comes first.
"""


def page() -> str:
    """Return the text of docs/configuration.md."""
    broker = [*BROKER_PROPERTIES.values(), *READ_AS_GIVEN.values()]
    effective = [row for row in TOPIC_PROPERTIES.values() if row.affects]
    kept = [row for row in TOPIC_PROPERTIES.values() if not row.affects]
    groups = [known.row for known in GROUP_PROPERTIES]
    others = [row for row in declarations() if not row.is_hidden]
    security = [*security_declarations(), *authorizer_properties().values()]
    defaults = [
        _default_of_topics(default.name) for default in TOPIC_DEFAULTS.values() if default.name != default.topic
    ]
    same_name = ", ".join(f"`{default.name}`" for default in TOPIC_DEFAULTS.values() if default.name == default.topic)
    parts = [
        OPENING,
        "## Brokers",
        "These properties take effect. Those marked *hidden* do not appear in DescribeConfigs, as in Kafka.",
        _table(broker, _name, _documentation, _default, _type, _allowed, _update, _releases),
        "## Listeners and security",
        "These properties take effect. Those of connections, SASL and TLS can be set for one listener, as in "
        "`listener.name.external.ssl.keystore.location`. Variants of a property are listed in the order of the "
        "releases.",
        _merged((row for row in security if row.affects), _documentation),
        "These properties of listeners and security are validated, stored and described, and have no effect.",
        _merged((row for row in security if not row.affects), _documentation),
        "## Defaults of topics",
        "These broker properties are the defaults of topic properties. "
        f"These are named as the topic property: {same_name}.",
        _table(defaults, _name, _for_topics, _default, _type, _update),
        "## Topics",
        "These properties take effect.",
        _table(effective, _name, _documentation, _default, _type, _allowed, _releases),
        "These properties are validated, stored and described, and have no effect.",
        _table(kept, _name, _documentation, _default, _type, _allowed, _releases),
        "## Groups",
        "If a group does not set a property, the broker's property applies: `group.consumer.session.timeout.ms` for "
        "`consumer.session.timeout.ms`. The broker's `group.consumer.min.session.timeout.ms` and "
        "`group.consumer.max.session.timeout.ms` limit the value. Properties without a description are validated, "
        "stored and described, and have no effect.",
        _table(groups, _name, _documentation, _default, _type, _allowed, _releases),
        "## Client metrics subscriptions",
        _table(PROPERTIES.values(), _name, _documentation, _default, _type),
        "## Brokers: accepted without effect",
        "kafkalet validates, stores and describes these properties of Kafka, but they have no effect, except that the "
        "limits and defaults of share and streams groups apply to group properties. If a property differs between "
        "releases, its cells list the variants in the order of the releases.",
        _merged(others),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


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


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE.relative_to(ROOT)}\n")
