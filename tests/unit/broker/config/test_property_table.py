"""`kafkalet.broker.config.property_table`: the format of the tables that are loaded on demand."""

import pytest

from kafkalet.broker.config.catalog import has_effect
from kafkalet.broker.config.property_table import parse_table
from kafkalet.broker.config.security_properties import authorizer_properties
from kafkalet.broker.config.security_properties import declarations as security_declarations
from kafkalet.properties import InvalidProperty, Update
from tests.unit.broker.configuration import names_in_code

TABLE = """
# a section
some.size INT 5 per-broker >=1 0-4.0
some.size LONG 6 effective 4.0+
    First line
    and second line.

other.name STRING '' hidden
"""


def test_variants_share_the_documentation_below_them() -> None:
    first, second, _ = parse_table(TABLE)
    assert first.documentation == second.documentation == "First line and second line."


def test_options_of_a_row_are_parsed() -> None:
    first, second, other = parse_table(TABLE)
    assert (first.update, first.since, first.until, first.affects) == (Update.PER_BROKER, (0,), (4, 0), "")
    assert (second.update, second.since, second.affects) == (Update.READ_ONLY, (4, 0), "given")
    assert (other.is_hidden, other.declared.default, other.documentation) == (True, "", "")
    with pytest.raises(InvalidProperty):
        first.declared.parse("0")


def test_each_security_property_is_documented_with_a_sentence() -> None:
    for row in (*security_declarations(), *authorizer_properties().values()):
        assert row.documentation[:1].isupper(), row.name
        assert row.documentation.endswith("."), row.name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("listeners", True),
        ("super.users", True),
        ("listener.name.inside.plain.sasl.jaas.config", True),
        ("ssl.keymanager.algorithm", False),
        ("num.io.threads", False),
        ("no.such.property", False),
    ],
)
def test_effect_of_a_property_is_found_by_its_name(name: str, expected: bool) -> None:
    assert has_effect(name, (4, 4)) is expected


@pytest.mark.slow
def test_each_effective_security_property_is_read_by_its_name() -> None:
    rows = (*security_declarations(), *authorizer_properties().values())
    names = names_in_code() | {"sasl.jaas.config"}  # read with the prefix of a mechanism
    assert [row.name for row in rows if row.affects and row.name not in names] == []
