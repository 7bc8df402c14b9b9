"""Encoded answers, which the router sends again to the same request until the cluster changes.

Clients ask the same questions again and again: ApiVersions on each connection, Metadata for the same topics every few
minutes or, in a test, every few milliseconds. The answer depends only on the bytes of the request after its header, the
listener of the client, and what the revision of the cluster covers (cluster/revision.py). A module of `broker/apis`
lets its answers be kept with a function

    def may_be_kept(response: MetadataResponse) -> bool

which is False for a request that has to be handled each time, because it changes something. Its handler is not called
for a request whose answer is kept. The router neither keeps answers nor sends kept ones while a hook wants to see each
request or response, nor to clients of listeners with SASL and of brokers with an authorizer.
"""

from typing import TypeAlias

from kafkalet.broker.cluster.revision import Revision

Question: TypeAlias = tuple[object, str, bytes]
"""The route (API and version), the listener, and the request after the header."""

MOST_QUESTION_BYTES = 1024
MOST_BYTES = 1 << 20
"""The size of all kept answers with their questions. When it is exceeded, all of them are forgotten."""
OVERHEAD_BYTES = 300
"""The memory of an entry besides the bytes of question and answer."""


class KeptAnswers:
    """The kept answers of one broker."""

    __slots__ = ("_answers", "_built_at", "_bytes", "_revision")

    def __init__(self, revision: Revision) -> None:
        """`revision` is that of the broker's cluster."""
        self._revision = revision
        self._built_at = revision.number
        self._answers: dict[Question, bytes] = {}
        self._bytes = 0

    def find(self, question: Question) -> bytes | None:
        """Return the answer without its header, or None if it is not known."""
        if self._built_at != self._revision.number:
            self._forget()
        return self._answers.get(question)

    def keep(self, question: Question, answer: bytes) -> None:
        """Keep the answer to a question that `find` does not know, unless the cluster has changed since that call."""
        size = len(question[2]) + len(answer) + OVERHEAD_BYTES
        if self._built_at != self._revision.number or size > MOST_BYTES:
            return
        if self._bytes + size > MOST_BYTES:
            self._forget()
        self._answers[question] = answer
        self._bytes += size

    def _forget(self) -> None:
        self._answers.clear()
        self._bytes = 0
        self._built_at = self._revision.number
