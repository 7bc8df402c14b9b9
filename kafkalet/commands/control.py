"""`--control HOST:PORT`: the control API of a broker process, for `serve` and `exec`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .command_line import Failure, Option, UsageError, parse_address

if TYPE_CHECKING:
    from kafkalet.control.client import ControlClient
    from kafkalet.control.server import ControlServer
    from kafkalet.embedded import EmbeddedCluster

URL_VARIABLE = "KAFKALET_CONTROL"
"""The environment variable from which `kafkalet ctl` reads the URL of the API. `kafkalet exec` sets it."""
TOKEN_VARIABLE = "KAFKALET_CONTROL_TOKEN"  # noqa: S105 - the name of a variable
CLIENT_OPTIONS = (
    Option("--control", "URL", f"URL of the control API, from the ready line of serve (${URL_VARIABLE})"),
    Option("--token", "TOKEN", f"token of the control API (${TOKEN_VARIABLE})"),
)
"""The options of the commands that use the API."""


class Control(NamedTuple):
    """Where the control API listens, and the token that it requires."""

    address: tuple[str, int]
    token: str | None

    @classmethod
    def of(cls, last: Mapping[str, str]) -> Control:
        """Return the control API that the options configure."""
        if "control" not in last:
            raise UsageError("--control-token: only applies to the control API; --control is missing")
        token = last.get("control-token", variable(TOKEN_VARIABLE))
        return cls(parse_address("--control", last["control"]), token)

    def open(self, cluster: EmbeddedCluster) -> ControlServer:
        """Start the API of a running cluster. Raises UsageError or Failure if it cannot listen."""
        from kafkalet.control.server import ControlServer
        from kafkalet.testing.cluster import Cluster

        assert isinstance(cluster, Cluster)
        host, port = self.address
        try:
            return ControlServer(cluster, self.address, self.token)
        except ValueError as error:
            raise UsageError(f"--control {host}:{port}: {error}") from error
        except OSError as error:
            raise Failure(f"--control {host}:{port}: cannot listen: {error.strerror or error}") from error


def client_of(given: Mapping[str, Sequence[str]]) -> ControlClient:
    """Return a client of the API that the options or the environment name. Raises UsageError."""
    from kafkalet.control.client import ControlClient

    url, token = (
        given[option][-1] if option in given else variable(name)
        for option, name in (("control", URL_VARIABLE), ("token", TOKEN_VARIABLE))
    )
    if url is None:
        raise UsageError(
            f"the URL of the control API is missing; give --control URL or set {URL_VARIABLE}. "
            "kafkalet serve --control 127.0.0.1:0 prints the URL in its ready line"
        )
    try:
        return ControlClient(url, token)
    except ValueError as error:
        raise UsageError(str(error)) from error


def variable(name: str) -> str | None:
    """Return the value of an environment variable, or None if it is missing or empty."""
    return os.environ.get(name) or None
