"""Retries: a client waits between two attempts (retry.backoff.ms)."""

from collections.abc import Iterator

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import name_of
from kafkalet.protocol.messages.fetch import FetchRequest
from kafkalet.protocol.schema import Struct
from kafkalet_conformance.clients.observing.finding import Claim, Severity
from kafkalet_conformance.clients.observing.sent import Fate, Sent

from .rule import Remark, Rule

SHORTEST_S = 0.01
"""Shorter times between an error and the same request are too short. retry.backoff.ms is 100 by default."""
MOST = 10
"""So many retries in a row may be too fast."""
MOST_FETCHES = 3
"""So many repeated Fetch requests in a row are noted."""
_FETCH = Claim(
    "fetched-again-too-fast",
    "A consumer waits before it fetches again after an error of a partition, although the Java client does not.",
    "KIP-580, FetchCollector.handleInitializeErrors",
    Severity.NOTE,
)


class RetryBackoff(Rule):
    """Counts requests that are repeated unchanged, immediately after a response that contains an error."""

    CLAIM = Claim(
        "retried-too-fast",
        "A client waits for retry.backoff.ms before it repeats a request that failed.",
        "KIP-580, CommonClientConfigs.RETRY_BACKOFF_MS_CONFIG",
    )

    def __init__(self) -> None:
        self._failed: dict[tuple[str | None, str], tuple[bytes, Sent, int]] = {}
        """The content of the last failed request, the request, and the number of fast retries, keyed by client id and
        API.
        """

    def sent(self, sent: Sent) -> Iterator[str | Remark]:
        key = (sent.place.client_id, sent.place.api)
        failed = self._failed.get(key)
        if failed is None:
            return
        content, earlier, retries = failed
        is_fast = earlier.ended_s is not None and 0 <= sent.at_s - earlier.ended_s < SHORTEST_S
        if not is_fast or content != _content(sent):
            del self._failed[key]
            return
        retries += 1
        self._failed[key] = content, earlier, retries
        is_fetch = sent.api is Api.FETCH and earlier.fate is Fate.ANSWERED
        if retries == (MOST_FETCHES if is_fetch else MOST):
            errors = ", ".join(dict.fromkeys(_errors(earlier.response)))
            text = f"{sent.place.api} is repeated {retries} times, each time within {SHORTEST_S * 1000:.0f} ms"
            text += f" after the response; the last error is {errors}"
            yield Remark(_FETCH, text) if is_fetch else text

    def answered(self, sent: Sent) -> Iterator[str | Remark]:
        key = (sent.place.client_id, sent.place.api)
        retries = self._failed[key][2] if key in self._failed else 0
        has_failed = sent.fate is Fate.LEFT or (sent.fate is Fate.ANSWERED and any(_errors(sent.response)))
        if has_failed:
            self._failed[key] = _content(sent), sent, retries
        else:
            self._failed.pop(key, None)
        yield from ()


def _content(sent: Sent) -> bytes:
    """Return a request without the fields that differ between attempts."""
    request = sent.request
    if isinstance(request, FetchRequest):
        return repr((request.topics, request.forgotten_topics_data)).encode()
    return sent.frame[8:]


def _errors(struct: Struct | None) -> Iterator[str]:
    """Yield the names of the errors in a response."""
    if struct is None:
        return
    for field in struct.FIELDS:
        value = getattr(struct, field.name)
        if field.name.endswith("error_code"):
            if value:
                yield name_of(value)
        elif field.struct is not None and value is not None:
            for element in value if field.array else (value,):
                yield from _errors(element)
