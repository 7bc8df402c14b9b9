"""`tools.reference.recorded_errors`: the recorded versions and errors of each API."""

from tools.recording.witnesses import witnesses
from tools.reference.recorded_errors import recorded_errors, recorded_versions, served


def test_every_version_of_every_api_is_recorded() -> None:
    have, wanted = recorded_versions(witnesses())
    assert have == wanted


def test_nine_of_ten_errors_that_can_be_provoked_are_recorded() -> None:
    have, wanted = recorded_errors(witnesses())
    assert have >= 0.9 * wanted


def test_versions_that_a_release_does_not_serve_are_not_expected() -> None:
    assert list(served("3.9", "ShareFetch")) == []
    assert list(served("4.4", "ShareFetch")) == [1, 2]
