"""Recognizes the request with which a consumer ends its fetch session before it closes its connection.

Since Apache Kafka 3.5, a consumer sends this Fetch while an earlier one may still be waiting for records, and then
waits for both responses. In Kafka, this takes until `fetch.max.wait.ms` has passed, half a second by default. kafkalet
responds to the earlier Fetch at once, as if this time had passed, because the consumer no longer needs records.
"""

from struct import Struct

from kafkalet.protocol.api import Api

_HEADER = Struct(">ihhih")  # size, API, version, correlation id, length of the client id
_SESSION = Struct(">ii")  # session id, session epoch
_REPLICA_BYTES = 4
_LIMITS_BYTES = 4 + 4 + 4 + 1  # max_wait_ms, min_bytes, max_bytes, isolation_level
SESSIONS_SINCE = 7
NO_REPLICA_SINCE = 15
FINAL_EPOCH = -1


def ends_session(requests: bytes) -> bool:
    """Return whether the first request is a Fetch that ends a session. Each request is preceded by its size.

    The request need not be complete. The result is False for other requests, and for those that cannot be parsed.
    """
    if len(requests) < _HEADER.size:
        return False
    _, api, version, _, length = _HEADER.unpack_from(requests)
    if api != Api.FETCH or version < SESSIONS_SINCE:
        return False
    at = _HEADER.size + max(length, 0)
    if version in Api.FETCH.flexible:
        if requests[at : at + 1] != b"\0":  # there are tagged fields
            return False
        at += 1
    at += _LIMITS_BYTES if version >= NO_REPLICA_SINCE else _LIMITS_BYTES + _REPLICA_BYTES
    if len(requests) < at + _SESSION.size:
        return False
    session_id, epoch = _SESSION.unpack_from(requests, at)
    return bool(session_id) and epoch == FINAL_EPOCH
