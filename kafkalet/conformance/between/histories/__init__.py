"""Random histories of requests; a seed always produces the same history.

A group is a function that adds steps to a `History`. Every step is a case, so that every answer is compared. Histories
are scenarios in the format of docs/scenario-format.md, so that a history with a difference can be replayed.
"""

from collections.abc import Callable

from . import administration, consumers, fetching, frames, groups, logs, rights, transactions
from .history import History

GROUPS: dict[str, Callable[[History], None]] = {
    "produce": logs.producing,
    "list_offsets": logs.listing,
    "legacy": logs.legacy,
    "fetch": fetching.fetching,
    "sessions": fetching.sessions,
    "topics": administration.topics,
    "configurations": administration.configurations,
    "frames": frames.frames,
    "transactions": transactions.transactions,
    "groups": groups.groups,
    "offsets": groups.offsets,
    "consumers": consumers.consumers,
    "rights_on_groups": rights.rights_on_groups,
    "rights_on_topics": rights.rights_on_topics,
}
WITH_ACLS = frozenset({"rights_on_groups", "rights_on_topics"})
"""The groups whose histories need brokers with an authorizer and two users."""


def history(group: str, seed: int, number: int, release: str, versions: dict[int, tuple[int, int]]) -> History:
    made = History(f"{seed}/{group}/{number}", release, versions)
    GROUPS[group](made)
    return made
