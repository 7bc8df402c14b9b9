"""Decides who may use the control API.

Without a token, the API listens on a loopback address only, and refuses requests whose Host is not a loopback name.
This prevents DNS rebinding: a page from the internet whose name leads to 127.0.0.1 still sends that name. With a token,
every request to the API needs it. In both cases, requests of pages from other origins are refused.
"""

import hmac
import ipaddress
import socket
from email.message import Message
from typing import NamedTuple

from .failures import Refusal

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


class NotLoopback(ValueError):
    """The control API would be reachable from other machines without a token."""


class Access(NamedTuple):
    """The rules for requests to the API. `host` is the name or address on which it listens."""

    host: str
    token: str | None

    def check_address(self) -> None:
        """Raise NotLoopback if the API needs a token. Raises OSError if the host is unknown."""
        if self.token is None and not is_loopback(self.host):
            raise NotLoopback(
                f"{self.host or 'every interface'} can be reached from other machines; "
                "set a token with --control-token, or listen on 127.0.0.1"
            )

    def check(self, headers: Message, *, is_public: bool) -> None:
        """Raise Refusal if a request is not allowed. `is_public` is true for the files of the web page."""
        host, *others = headers.get_all("Host") or [""]
        name = _name_of(host) if not others else ""
        if self.token is None and name not in (*LOOPBACK_NAMES, self.host):
            raise Refusal(403, f"the Host {host[:100]!r} is not this machine; use http://127.0.0.1 or http://localhost")
        origin = headers.get("Origin")
        schemes = ("http",) if self.token is None else ("http", "https")  # a proxy in front may offer HTTPS
        if origin is not None and origin.lower() not in [f"{scheme}://{host}".lower() for scheme in schemes]:
            raise Refusal(403, f"a page from {origin[:100]!r} may not use this API")
        if not is_public and headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise Refusal(403, "a page from another site may not use this API")
        if self.token is not None and not is_public:
            self._check_token(str(headers.get("Authorization") or ""))

    def _check_token(self, authorization: str) -> None:
        scheme, _, given = authorization.partition(" ")
        expected = (self.token or "").encode()
        if not hmac.compare_digest(given.strip().encode("utf-8", "surrogateescape"), expected):
            raise Refusal(401, "the token is missing or wrong; send the header Authorization: Bearer TOKEN")
        if scheme.lower() != "bearer":
            raise Refusal(401, "the scheme of Authorization must be Bearer")


def _name_of(host: str) -> str:
    """Return the name in a Host header, without the port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def is_loopback(host: str) -> bool:
    """Return whether all addresses of a host are loopback addresses. Raises OSError if the host is unknown."""
    if not host:
        return False
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return all(ipaddress.ip_address(str(each[4][0]).partition("%")[0]).is_loopback for each in found)
