"""The history of a run: the events that clients report, one JSON array per line.

    ["send", ms, value, partition, session, transaction]   a record is being sent; the transaction is null without one
    ["acked", ms, value, offset]                           the broker has stored it
    ["commit", ms, transaction], ["committed", ms, transaction]
                                                           a commit is requested; it has succeeded
    ["poll", ms, session, partition, offset, value]        a consumer with a fixed assignment has received a record
    ["member", ms, partition, offset, value]               a member of the group has received a record
    ["log", ms, text]                                      anything else, for people

Times are those of one machine, in milliseconds. A session is the life of a producer or consumer. A record without an
`acked` event may be stored. A transaction without `commit` was aborted, or its broker has to abort it; one with
`commit` but without `committed` may be either.
"""

import json
from collections.abc import Iterable
from typing import NamedTuple


class Send(NamedTuple):
    ms: float
    value: str
    partition: int
    session: str
    transaction: str | None


class Seen(NamedTuple):
    """A record that a consumer has received."""

    ms: float
    partition: int
    offset: int
    value: str


class History:
    """The events of all clients of a run."""

    def __init__(self) -> None:
        self.sends: dict[str, Send] = {}
        """By value, in the order of each session."""
        self.acked: dict[str, int] = {}
        """The offsets of acknowledged values."""
        self.commits: dict[str, float] = {}
        """When the commit of a transaction was requested first."""
        self.committed: set[str] = set()
        self.polls: dict[str, list[Seen]] = {}
        """By session, in order."""
        self.members: list[Seen] = []
        self.logs: list[str] = []

    def read(self, client: str, lines: Iterable[str]) -> None:
        """Add the events of a client. Raises ValueError if it reports something else."""
        for line in lines:
            match json.loads(line):
                case ["send", ms, value, partition, session, transaction]:
                    if value in self.sends:
                        raise ValueError(f"{client} sends {value} twice")
                    self.sends[value] = Send(ms, value, partition, session, transaction)
                case ["acked", _, value, offset]:
                    self.acked[value] = offset
                case ["commit", ms, transaction]:
                    self.commits.setdefault(transaction, ms)
                case ["committed", _, transaction]:
                    self.committed.add(transaction)
                case ["poll", ms, session, partition, offset, value]:
                    self.polls.setdefault(session, []).append(Seen(ms, partition, offset, value))
                case ["member", ms, partition, offset, value]:
                    self.members.append(Seen(ms, partition, offset, value))
                case ["log", _, text]:
                    self.logs.append(f"{client}: {text}")
                case other:
                    raise ValueError(f"{client} reports {other}")

    @property
    def sessions(self) -> dict[tuple[str, int], list[Send]]:
        """What each producer session has sent to each partition, in order."""
        found: dict[tuple[str, int], list[Send]] = {}
        for send in self.sends.values():
            found.setdefault((send.session, send.partition), []).append(send)
        return found

    def is_aborted(self, send: Send) -> bool:
        return send.transaction is not None and send.transaction not in self.commits

    def is_certain(self, send: Send) -> bool:
        """Return whether the client was told that the record is stored for good."""
        if send.transaction is not None:
            return send.transaction in self.committed
        return send.value in self.acked
