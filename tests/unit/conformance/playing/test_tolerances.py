"""What may legitimately differ, and its table in the documentation."""

from kafkalet.protocol.api import BY_TITLE
from kafkalet_conformance.playing.matching import Matcher, normalized
from kafkalet_conformance.playing.tolerances import IGNORED, IN_ORDER, ORDERS, PLACEHOLDERS, SETS, table
from tests.source import ROOT

PAGE = (ROOT / "docs" / "scenario-format.md").read_text(encoding="utf-8")


def test_documentation_has_the_table() -> None:
    assert "\n".join(table()) in PAGE


def test_each_tolerance_has_a_reason() -> None:
    assert all(reason.strip() for reason in (*IGNORED.values(), *PLACEHOLDERS.values()))


def test_ignored_fields_are_not_compared() -> None:
    assert Matcher({}).differences(dict.fromkeys(IGNORED, 1), dict.fromkeys(IGNORED, 2)) == []
    assert Matcher({}).differences({"error_code": 1}, {"error_code": 2})


def test_host_of_acl_is_compared() -> None:
    allowed, elsewhere = ({"host": host, "permission_type": 3} for host in ("*", "127.0.0.1"))
    assert Matcher({}).differences(allowed, elsewhere)


def test_items_are_sorted_by_each_listed_field() -> None:
    for field in ORDERS:
        of_acl = {"permission_type": 3} if field == "host" else {}  # other hosts are ignored
        first, second = {**of_acl, field: "a"}, {**of_acl, field: "b"}
        assert normalized([second, first], False) == [first, second]
        assert normalized([second, first], True) == [second, first]


def test_sets_are_compared_without_order() -> None:
    for field, kind in SETS.items():
        values = [kind(2), kind(1)]
        assert normalized({field: values}, False) == {field: sorted(values)}


def test_compared_orders_are_those_of_apis() -> None:
    assert IN_ORDER.keys() <= BY_TITLE.keys()


def test_number_of_partitions_is_not_a_set() -> None:
    assert normalized({"partitions": 2}, False) == {"partitions": 2}
