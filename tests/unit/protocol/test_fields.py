import pytest

from kafkalet.protocol.fields import EVERY, HIGHEST, NEVER, REQUIRED, Versions


@pytest.mark.parametrize(
    ("text", "versions"),
    [("4+", (4, HIGHEST)), ("0-3", (0, 3)), ("7", (7, 7)), ("none", NEVER), ("0+", EVERY)],
)
def test_versions_are_spelled_as_kafka_spells_them(text: str, versions: tuple[int, int]) -> None:
    assert Versions.parse(text) == versions


def test_both_ends_are_included() -> None:
    assert [version for version in range(8) if version in Versions(2, 5)] == [2, 3, 4, 5]


def test_nothing_is_in_no_version() -> None:
    assert 0 not in NEVER
    assert HIGHEST not in NEVER


def test_only_numbers_are_versions() -> None:
    assert "2" not in Versions(0, 5)  # type: ignore[comparison-overlap]


@pytest.mark.parametrize("text", ["4+", "0-3"])
def test_versions_print_as_they_are_spelled(text: str) -> None:
    assert str(Versions.parse(text)) == text


def test_the_missing_default_says_so() -> None:
    assert repr(REQUIRED) == "REQUIRED"
