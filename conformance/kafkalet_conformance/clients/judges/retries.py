"""Judge retries: measure the time from an error to the next request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from kafkalet_conformance.clients.results import Finding, Verdict
from kafkalet_conformance.clients.scenario import Judge
from kafkalet_conformance.clients.stage import Stage

if TYPE_CHECKING:
    from kafkalet.testing.requests import Request

FEWEST_GAPS = 3
"""Fewer short gaps are not reported."""
TOO_FAST_MS = 20.0
"""A client that waits less than this between most of its retries has no backoff. Java waits 100 ms with a jitter of
20 % (retry.backoff.ms), and 50 ms before it connects again (reconnect.backoff.ms)."""


def polite(*apis: str, errors: Iterable[str] = ()) -> Judge:
    """Judge the time between retries: after an error, a client waits before it sends a request of the same API again.

    Each of `apis` is judged separately. Only responses with one of `errors` count; without `errors`, only requests that
    ended with a closed connection.
    """
    wanted = frozenset(errors)

    def judge(stage: Stage) -> Iterator[Finding]:
        for api in apis:
            gaps = _gaps_ms(list(stage.cluster.requests.filter(api)), wanted)
            quick = [gap for gap in gaps if gap < TOO_FAST_MS]
            if len(quick) >= FEWEST_GAPS and median(gaps) < TOO_FAST_MS:
                yield Finding(
                    Verdict.TOO_FAST,
                    f"{len(quick)} of {len(gaps)} {api} requests followed an error within {TOO_FAST_MS:g} ms; "
                    "Java waits about 100 ms (retry.backoff.ms), or 50 ms before it connects (reconnect.backoff.ms)",
                    (f"milliseconds from the error to the next request: {_numbers(gaps)}",),
                )

    return judge


def _gaps_ms(requests: Sequence[Request], errors: frozenset[str]) -> list[float]:
    """Return the time from each failed request to the next one."""
    gaps = []
    for one, other in pairwise(requests):
        failed = bool(errors & set(one.errors)) if errors else one.closed is not None
        if failed:
            gaps.append((other._exchange.began_s - one._exchange.began_s) * 1000 - one.duration_ms)
    return gaps


def _numbers(gaps: Sequence[float]) -> str:
    return ", ".join(f"{gap:.1f}" for gap in gaps[:20])
