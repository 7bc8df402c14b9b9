"""Observes the clients of a cluster: the public entry of this package.

    with observe(cluster) as observation:
        ...                             # clients send requests
    for finding in observation.findings():
        print(finding)

An observation may be read from any thread, and while requests arrive. Requests are judged when it is read, or in a
thread of the observation when half of the memory for unjudged requests is in use.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kafkalet.broker.network.journal import Journal

from .finding import Claim, Finding, Severity
from .recorder import MOST_BYTES, OVERHEAD_BYTES, Recorded, Recorder
from .rules.catalog import RULES
from .rules.rule import Remark
from .sent import Answered, Closed, Event, Gap, Sent
from .strict import check_request

if TYPE_CHECKING:
    from kafkalet.broker.server import Server
    from kafkalet.testing.cluster import Cluster

KEPT_BYTES = 64 * 1024 * 1024
"""`Observation.requests` keeps requests and responses up to this size; later requests are only judged and counted."""
MOST_FINDINGS = 100
"""How many findings of each rule and severity are kept; the others are counted."""


class Observation:
    """The requests of the clients of a cluster, and the findings about them."""

    def __init__(self, server: Server, most_bytes: int = MOST_BYTES, *, sees_everything: bool = True) -> None:
        self._server = server
        self._recorded = Recorded(most_bytes, self._judge_soon)
        self._lock = threading.RLock()
        self._judging: threading.Thread | None = None
        self._findings: list[Finding] = []
        self._found: Counter[tuple[str, Severity]] = Counter()
        self._rules = [rule() for rule in RULES]
        for rule in self._rules:
            rule.sees_everything = sees_everything
        self._last: dict[int, Sent] = {}
        """The last request of each open connection."""
        self._requests: list[Sent] = []
        self._bytes = 0
        self._counts: Counter[str] = Counter()
        self._not_kept = 0
        self._has_gap = False
        self._own_journal = False

    # Reading

    def findings(self) -> list[Finding]:
        """Return everything that was found so far, in the order of the requests."""
        with self._lock:
            self._judge()
            return sorted(self._findings, key=lambda finding: finding.request.number)

    def violations(self) -> list[Finding]:
        """Return the findings that are violations."""
        return [finding for finding in self.findings() if finding.severity is Severity.VIOLATION]

    @property
    def found(self) -> Counter[tuple[str, Severity]]:
        """The number of findings by rule and severity, including those that exceed MOST_FINDINGS of a rule."""
        with self._lock:
            self._judge()
            return self._found.copy()

    @property
    def requests(self) -> list[Sent]:
        """The requests in the order of their arrival, up to KEPT_BYTES."""
        with self._lock:
            self._judge()
            return list(self._requests)

    @property
    def counts(self) -> Counter[str]:
        """The number of requests of each API, including those that are not in `requests`."""
        with self._lock:
            self._judge()
            return self._counts.copy()

    @property
    def unchecked(self) -> int:
        """How many requests were not checked, because they arrived faster than they could be judged.

        After the first one, only the bytes of each request are checked: the rules for sequences need all requests.
        """
        return self._recorded.unchecked

    @property
    def not_kept(self) -> int:
        """How many requests were checked, but are missing in `requests`."""
        return self._not_kept

    # Judging

    def _judge_soon(self) -> None:
        """Judge in a thread. Called in the event loop."""
        if self._judging is None or not self._judging.is_alive():
            self._judging = threading.Thread(target=self._judge_now, name="kafkalet-observation", daemon=True)
            self._judging.start()

    def _judge_now(self) -> None:
        with self._lock:
            self._judge()

    def _judge(self) -> None:
        for event in self._take():
            self._judge_event(event)

    def _take(self) -> list[Event]:
        if not self._server.host.is_running:
            return self._recorded.take()
        try:
            return self._server.call(self._recorded.take)
        except RuntimeError:  # the cluster has just stopped
            return self._recorded.take()

    def _judge_event(self, event: Event) -> None:
        match event:
            case Sent():
                self._sent(event)
            case Answered(sent):
                if not self._has_gap:
                    for rule in self._rules:
                        self._add(sent, rule.CLAIM, rule.answered(sent))
                self._keep(sent)
            case Closed():
                last = self._last.pop(event.connection, None)
                for rule in self._rules:
                    remarks = rule.closed(event)
                    if remarks is not None and last is not None:
                        self._add(last, rule.CLAIM, remarks)
            case Gap():
                self._has_gap = True

    def _sent(self, sent: Sent) -> None:
        self._counts[sent.place.api] += 1
        if self._bytes <= KEPT_BYTES:
            self._requests.append(sent)
            self._bytes += OVERHEAD_BYTES
        else:
            self._not_kept += 1
        for complaint in check_request(sent.frame).complaints:
            self._find(sent, complaint.claim, f"{sent.place.api} v{sent.version} request, {complaint}")
        self._last[sent.connection] = sent
        if not self._has_gap:
            for rule in self._rules:
                self._add(sent, rule.CLAIM, rule.sent(sent))

    def _keep(self, sent: Sent) -> None:
        """Keep the bytes of a request with its response, unless there are too many."""
        size = sent.size_bytes
        keeps_bytes = self._bytes + size <= KEPT_BYTES
        if keeps_bytes:
            self._bytes += size
        sent.forget(keeps_bytes=keeps_bytes)

    def _add(self, sent: Sent, claim: Claim, remarks: Iterable[str | Remark]) -> None:
        for remark in remarks:
            if isinstance(remark, Remark):
                self._find(sent, remark.claim, remark.text)
            else:
                self._find(sent, claim, remark)

    def _find(self, sent: Sent, claim: Claim, explanation: str) -> None:
        self._found[claim.rule, claim.severity] += 1
        if self._found[claim.rule, claim.severity] <= MOST_FINDINGS:
            self._findings.append(
                Finding(claim.severity, claim.rule, claim.text, claim.source, sent.place, explanation)
            )

    # Beginning and end; in the event loop

    def begin(self) -> None:
        """Begin to record. Must be called in the event loop of the cluster."""
        server = self._server
        if isinstance(server.journal, Recorder):
            raise RuntimeError("this cluster is already observed; end the first observation before the next one")
        self._own_journal = server.journal is None
        if server.journal is not None and server.journal.counts():
            for rule in self._rules:
                rule.sees_everything = False
        self._set_journal(Recorder(server.journal or Journal(most_requests=0), server, self._recorded))

    def end(self) -> None:
        """Record no further requests. Must be called in the event loop of the cluster."""
        recorder = self._server.journal
        assert isinstance(recorder, Recorder)
        self._set_journal(None if self._own_journal else recorder.before)

    def _set_journal(self, journal: Journal | None) -> None:
        server = self._server
        server.journal = journal
        for broker in server.brokers.values():
            broker.router.hooks.journal = journal


@contextmanager
def observe(cluster: Cluster, most_bytes: int = MOST_BYTES, *, sees_everything: bool = True) -> Iterator[Observation]:
    """Observe the clients of a running cluster. `most_bytes` limits the memory for requests that are not judged yet.

    Without `sees_everything`, or if clients have sent requests to the cluster before, clients may use producer ids,
    member ids and topic ids that they received earlier.
    """
    observation = Observation(cluster._server, most_bytes, sees_everything=sees_everything)
    cluster._server.call(observation.begin)
    try:
        yield observation
    finally:
        if cluster._server.host.is_running:
            cluster._server.call(observation.end)
        else:
            observation.end()
