"""`tools.recording.errors_page`: the page of recorded versions and errors."""

from tools.recording import errors_page
from tools.recording.witnesses import witnesses


def test_page_is_up_to_date() -> None:
    written = errors_page.FILE.read_text(encoding="utf-8")
    assert written == errors_page.page(), f"{errors_page.FILE} is out of date; run {errors_page.COMMAND}"


def test_every_version_of_every_api_is_recorded() -> None:
    have, wanted = errors_page.recorded_versions(witnesses())
    assert have == wanted


def test_nine_of_ten_errors_that_can_be_provoked_are_recorded() -> None:
    have, wanted = errors_page.recorded_errors(witnesses())
    assert have >= 0.9 * wanted


def test_versions_that_a_release_does_not_serve_are_not_expected() -> None:
    assert list(errors_page.served("3.9", "ShareFetch")) == []
    assert list(errors_page.served("4.4", "ShareFetch")) == [1, 2]
