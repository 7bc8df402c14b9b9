"""Recognizes the request with which a consumer ends its fetch session before it closes its connection.

A consumer of Apache Kafka 3.5 or newer sends this Fetch behind the one that still waits for records, and waits for both
responses. In Kafka, that takes until `fetch.max.wait.ms` has passed, half a second by default. kafkalet answers the
waiting Fetch at once, with the response that it would get at that time: the consumer no longer asks for records.
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
    """Return whether the first of these requests, each with its size, is a Fetch that ends a session.

    The request need not be complete. Other requests, and those that are not understood, return False.
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
