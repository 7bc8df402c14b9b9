"""Tests of access control: Host, Origin and token of a request."""

from email.message import Message

import pytest

from kafkalet.control.access import Access, NotLoopback, is_loopback
from kafkalet.control.failures import Refusal

OPEN = Access("127.0.0.1", None)
SECRET = Access("0.0.0.0", "secret")


def headers(*pairs: tuple[str, str]) -> Message:
    found = Message()
    for name, value in pairs:
        found[name] = value
    return found


def status(access: Access, *pairs: tuple[str, str], is_public: bool = False) -> int:
    try:
        access.check(headers(*pairs), is_public=is_public)
    except Refusal as refusal:
        return refusal.status
    return 200


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:8080", "LOCALHOST", "[::1]:8080", "[::1]"])
def test_loopback_host_is_allowed(host: str) -> None:
    assert status(OPEN, ("Host", host)) == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:80", "localhost.evil", "", "[::2]", "10.0.0.1"]
)
def test_foreign_host_is_refused_without_a_token(host: str) -> None:
    assert status(OPEN, ("Host", host)) == 403


def test_request_with_two_hosts_or_none_is_refused() -> None:
    assert status(OPEN) == 403
    assert status(OPEN, ("Host", "localhost"), ("Host", "localhost")) == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "ftp://localhost:1", "http://localhost:2", "https://127.0.0.1:1"]
)
@pytest.mark.parametrize("access", [OPEN, SECRET], ids=["without token", "with token"])
def test_page_of_another_origin_is_refused(access: Access, origin: str) -> None:
    token = ("Authorization", "Bearer secret")
    assert status(access, ("Host", "localhost:1"), ("Origin", origin), token) == 403


def test_own_page_is_allowed() -> None:
    assert status(OPEN, ("Host", "localhost:1"), ("Origin", "http://localhost:1")) == 200


def test_own_page_behind_a_proxy_with_https_needs_the_token() -> None:
    own = (("Host", "kafka.example"), ("Origin", "https://kafka.example"))
    assert status(SECRET, *own, ("Authorization", "Bearer secret")) == 200
    assert status(SECRET, *own) == 401
    assert status(OPEN, ("Host", "localhost"), ("Origin", "https://localhost")) == 403


@pytest.mark.parametrize(
    ("site", "expected"), [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)]
)
def test_request_that_a_browser_marks_as_foreign_is_refused(site: str, expected: int) -> None:
    assert status(OPEN, ("Host", "localhost"), ("Sec-Fetch-Site", site)) == expected


def test_link_from_another_site_to_the_page_is_allowed() -> None:
    assert status(OPEN, ("Host", "localhost"), ("Sec-Fetch-Site", "cross-site"), is_public=True) == 200


@pytest.mark.parametrize(
    ("authorization", "expected"),
    [
        ("Bearer secret", 200),
        ("bearer secret", 200),
        ("Bearer  secret", 200),
        ("Bearer Secret", 401),
        ("Bearer secre", 401),
        ("Bearer", 401),
        ("Basic secret", 401),
        ("secret", 401),
        ("Bearer s\udcffcret", 401),
    ],
)
def test_token_is_compared(authorization: str, expected: int) -> None:
    assert status(SECRET, ("Host", "kafka.internal:80"), ("Authorization", authorization)) == expected


def test_request_without_a_token_is_unauthorized() -> None:
    assert status(SECRET, ("Host", "localhost")) == 401


def test_page_needs_no_token() -> None:
    assert status(SECRET, ("Host", "localhost"), is_public=True) == 200


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("", False), ("192.0.2.1", False)],
)
def test_loopback_addresses_are_known(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_address_reachable_from_other_machines_needs_a_token() -> None:
    SECRET.check_address()
    with pytest.raises(NotLoopback, match=r"0\.0\.0\.0 can be reached from other machines; set a token"):
        Access("0.0.0.0", None).check_address()
    with pytest.raises(NotLoopback, match="every interface can be reached"):
        Access("", None).check_address()
