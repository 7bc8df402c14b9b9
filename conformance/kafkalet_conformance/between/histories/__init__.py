"""Random histories of requests; a seed always produces the same history.

A group is a function that adds steps to a `History`. Every step is a case, so that every response is compared.
Histories are scenarios in the format of docs/scenario-format.md, so that a history with a difference can be replayed.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from . import (
    administration,
    any_request,
    cleaning,
    clusters,
    consumers,
    credentials,
    faults,
    fetching,
    frames,
    groups,
    logs,
    rights,
    shares,
    transactions,
    waiting,
)
from .history import History, NotServed

__all__ = ["GROUPS", "Group", "History", "NotServed", "history"]


class Group(NamedTuple):
    """A group of histories, and what its brokers need."""

    write: Callable[[History], None]
    acl: bool = False
    """Whether the brokers need an authorizer, or must not have one."""
    brokers: int = 1
    """The least number of brokers of each cluster. With more than one, the histories name brokers by their ids."""
    restart: bool = False
    """Whether the histories restart a broker."""
    faults: bool = False
    """Whether the histories stop, kill and pause brokers."""
    every: int = 1
    """The group is performed once in so many turns, because its histories wait for tasks of the broker."""


GROUPS = {
    "produce": Group(logs.producing),
    "list_offsets": Group(logs.listing),
    "legacy": Group(logs.legacy),
    "fetch": Group(fetching.fetching),
    "sessions": Group(fetching.sessions),
    "waiting": Group(waiting.waiting),
    "topics": Group(administration.topics),
    "configurations": Group(administration.configurations),
    "frames": Group(frames.frames),
    "any_request": Group(any_request.any_request),
    "transactions": Group(transactions.transactions),
    "groups": Group(groups.groups),
    "offsets": Group(groups.offsets),
    "consumers": Group(consumers.consumers),
    "share_deliveries": Group(shares.deliveries),
    "share_members": Group(shares.members),
    "share_locks": Group(shares.locks, every=10),
    "quotas": Group(credentials.quotas),
    "scram": Group(credentials.scram),
    "tokens": Group(credentials.tokens),
    "tokens_of_users": Group(credentials.tokens, acl=True),
    "compaction": Group(cleaning.compaction, every=10),
    "retention": Group(cleaning.retention, every=10),
    "elections": Group(clusters.elections, brokers=3),
    "reassignments": Group(clusters.reassignments, brokers=3),
    "restarts": Group(clusters.restarts, restart=True, every=4),
    "faults": Group(faults.faults, brokers=3, faults=True, every=4),
    "moves_and_transactions": Group(faults.moves_and_transactions, brokers=3, faults=True, every=4),
    "rights_on_groups": Group(rights.rights_on_groups, acl=True),
    "rights_on_topics": Group(rights.rights_on_topics, acl=True),
}


def history(
    group: str,
    seed: int,
    number: int,
    release: str,
    versions: dict[int, tuple[int, int]],
    nodes: Sequence[int] = (1,),
) -> History:
    """Return a history for brokers that serve these versions. Raises NotServed if they lack an API that it needs."""
    made = History(f"{seed}/{group}/{number}", release, versions, nodes)
    GROUPS[group].write(made)
    return made
