"""Versions: a client sends only the versions that the broker has advertised."""

from collections.abc import Iterator

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.api_versions import ApiVersionsResponse
from kafkalet_conformance.clients.observing.finding import Claim, Severity
from kafkalet_conformance.clients.observing.sent import Closed, Fate, Sent

from .rule import Remark, Rule

_BEFORE = Claim(
    "versions-unknown",
    "A client requests the supported versions before its first other request on a connection.",
    "KIP-35, NetworkClient",
    Severity.NOTE,
)
_DOWNGRADE = Claim(
    "versions-downgrade",
    "After UNSUPPORTED_VERSION, a client repeats ApiVersions with a version that the response lists, or with a lower "
    "one if it lists none, as before Kafka 2.4.",
    "KIP-511, NetworkClient.handleApiVersionsResponse",
)
NOT_SERVED = "is not served"
"""A part of the message that a broker logs when it closes a connection because of an unsupported API or version."""
_SASL = (Api.SASL_HANDSHAKE, Api.SASL_AUTHENTICATE)


class AdvertisedVersions(Rule):
    """Compares the versions of requests with the ApiVersions response on the same connection or from the same
    broker.
    """

    CLAIM = Claim(
        "versions-advertised",
        "A client sends only the APIs and versions that the broker has advertised.",
        "KIP-35, NodeApiVersions.latestUsableVersion",
    )

    def __init__(self) -> None:
        self._advertised: dict[int, dict[int, tuple[int, int]]] = {}
        """The versions, keyed by connection."""
        self._of_brokers: dict[int, dict[int, tuple[int, int]]] = {}
        self._refused: dict[int, tuple[Sent, tuple[int, int] | None]] = {}
        """The refused ApiVersions request of a connection, and the versions that the response listed."""
        self._without_api_versions: set[int] = set()
        """The brokers that close the connection after ApiVersions, because they are older than KIP-35."""
        self._told: set[int] = set()
        """The connections with a note that the versions were not known."""

    def sent(self, sent: Sent) -> Iterator[str | Remark]:
        api = sent.api
        if api is None:
            return
        connection = sent.connection
        if api is Api.API_VERSIONS:
            yield from self._api_versions(sent)
            return
        advertised = self._advertised.get(connection)
        if advertised is None:
            if connection not in self._told and api not in _SASL:
                self._told.add(connection)
                yield Remark(_BEFORE, f"{api} v{sent.version} is sent on a connection without an ApiVersions response")
            advertised = self._of_brokers.get(sent.place.broker)
        if advertised is None or api not in advertised:
            if advertised is not None:
                yield f"{api} v{sent.version} is sent, but the broker did not advertise the API"
            return
        low, high = advertised[api]
        if not low <= sent.version <= high:
            yield f"{api} v{sent.version} is sent, but the broker advertised v{low} to v{high}"

    def _api_versions(self, sent: Sent) -> Iterator[Remark]:
        refused = self._refused.get(sent.connection)
        if refused is None:
            return
        earlier, listed = refused
        if sent.follows(earlier):
            del self._refused[sent.connection]
            if listed is None:  # the broker is older than KIP-511
                if sent.version >= earlier.version:
                    text = f"v{sent.version} follows, but v{earlier.version} was refused; a lower version was expected"
                    yield Remark(_DOWNGRADE, text)
            elif sent.version != 0 and not listed[0] <= sent.version <= listed[1]:
                supported = f"v{listed[0]} to v{listed[1]}"
                text = f"v{sent.version} follows, but v{earlier.version} was refused and {supported} are supported"
                yield Remark(_DOWNGRADE, text)

    def answered(self, sent: Sent) -> Iterator[str | Remark]:
        if self._is_refused_version(sent):
            yield f"the client did not request the supported versions, and {sent.close_reason}"
        if sent.api is Api.API_VERSIONS and not sent.is_altered and isinstance(sent.response, ApiVersionsResponse):
            response = sent.response
            versions = {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}
            if response.error_code == Code.NONE:
                self._advertised[sent.connection] = self._of_brokers[sent.place.broker] = versions
            elif response.error_code == Code.UNSUPPORTED_VERSION:
                self._refused[sent.connection] = sent, versions.get(Api.API_VERSIONS)
        elif sent.api is Api.API_VERSIONS and sent.fate is Fate.REFUSED:
            self._without_api_versions.add(sent.place.broker)

    def _is_refused_version(self, sent: Sent) -> bool:
        """Return whether the broker closed the connection because of a version that it had not advertised.

        If the broker does not serve ApiVersions, a client may try versions.
        """
        return (
            sent.fate is Fate.REFUSED
            and NOT_SERVED in sent.close_reason
            and sent.api is not Api.API_VERSIONS
            and sent.place.broker not in self._of_brokers
            and sent.place.broker not in self._without_api_versions
        )

    def closed(self, closed: Closed) -> None:
        self._advertised.pop(closed.connection, None)
        self._refused.pop(closed.connection, None)
        self._told.discard(closed.connection)
