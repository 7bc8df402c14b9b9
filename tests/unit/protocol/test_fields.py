import pytest

from kafkalet.protocol.fields import EVERY, HIGHEST, NEVER, REQUIRED, Versions


@pytest.mark.parametrize(
    ("text", "versions"),
    [("4+", (4, HIGHEST)), ("0-3", (0, 3)), ("7", (7, 7)), ("none", NEVER), ("0+", EVERY)],
)
def test_versions_are_parsed_from_kafka_notation(text: str, versions: tuple[int, int]) -> None:
    assert Versions.parse(text) == versions


def test_version_range_includes_both_ends() -> None:
    assert [version for version in range(8) if version in Versions(2, 5)] == [2, 3, 4, 5]


def test_never_contains_no_version() -> None:
    assert 0 not in NEVER
    assert HIGHEST not in NEVER


def test_version_range_contains_only_integers() -> None:
    assert "2" not in Versions(0, 5)  # type: ignore[comparison-overlap]


@pytest.mark.parametrize("text", ["4+", "0-3"])
def test_str_of_versions_is_their_notation(text: str) -> None:
    assert str(Versions.parse(text)) == text


def test_repr_of_missing_default_is_required() -> None:
    assert repr(REQUIRED) == "REQUIRED"
