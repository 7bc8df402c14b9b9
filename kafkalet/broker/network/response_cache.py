"""Encoded responses, which the router sends again to the same request until the cluster changes.

Clients repeat some requests: ApiVersions on each connection, Metadata for the same topics every few minutes or, in a
test, every few milliseconds. The response depends only on the bytes of the request after its header, on the listener of
the client, and on state whose changes advance the cluster's revision (cluster/revision.py). A module of `broker/apis`
lets its responses be cached with a function

    def is_cacheable(response: MetadataResponse) -> bool

which is False for a request that has to be handled each time, because it changes something. The router uses the cache
only while the broker is plain (hooks.py), and not for listeners with SASL, whose handlers count ApiVersions.
"""

from typing import TypeAlias

from kafkalet.broker.cluster.revision import Revision

CacheKey: TypeAlias = tuple[object, str, bytes]
"""The route (API and version), the listener, and the request after the header."""

MOST_KEY_BYTES = 1024
MOST_BYTES = 1 << 20
"""The maximum size of all cached responses with their keys. When it is exceeded, all of them are forgotten."""
OVERHEAD_BYTES = 300
"""The memory of an entry besides the bytes of request and response."""


class ResponseCache:
    """The cached responses of one broker."""

    __slots__ = ("_built_at", "_bytes", "_responses", "_revision")

    def __init__(self, revision: Revision) -> None:
        """`revision` is the revision of the broker's cluster."""
        self._revision = revision
        self._built_at = revision.number
        self._responses: dict[CacheKey, bytes] = {}
        self._bytes = 0

    def get(self, key: CacheKey) -> bytes | None:
        """Return the response without its header, or None if it is not cached."""
        if self._built_at != self._revision.number:
            self._forget()
        return self._responses.get(key)

    def add(self, key: CacheKey, response: bytes) -> None:
        """Add a response that `get` did not find, unless the cluster has changed since that call."""
        size = len(key[2]) + len(response) + OVERHEAD_BYTES
        if self._built_at != self._revision.number or size > MOST_BYTES:
            return
        if self._bytes + size > MOST_BYTES:
            self._forget()
        self._responses[key] = response
        self._bytes += size

    def _forget(self) -> None:
        self._responses.clear()
        self._bytes = 0
        self._built_at = self._revision.number
