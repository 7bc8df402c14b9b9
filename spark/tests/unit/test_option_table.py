"""`kafkalet_spark.option_table`: the rows from which parsing, flags, --help and the documentation are derived."""

import pytest

from kafkalet_spark.option_types import Option
from tools.reference.spark_options import TABLES


@pytest.mark.parametrize("name", TABLES)
def test_no_option_is_declared_twice(name: str) -> None:
    names = [option.name.lower() for option in TABLES[name]]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("option", [option for table in TABLES.values() for option in table], ids=lambda o: o.name)
def test_default_is_a_valid_value(option: Option) -> None:
    assert (option.default is None) == (option.default_value is None)
    assert not option.choices or option.default in option.choices
