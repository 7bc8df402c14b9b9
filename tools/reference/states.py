"""Draws the state machines of the broker from their tables, for docs/architecture.md."""

from collections.abc import Iterable
from enum import Enum, StrEnum
from itertools import groupby

from kafkalet.broker.groups.classic import group
from kafkalet.broker.network import connection
from kafkalet.broker.security.sasl import authenticator

ANY = "any state"

Move = tuple[str, str, str]
"""The names of a state, of an event and of the next state."""


def name_of(state: Enum) -> str:
    return state.value if isinstance(state, StrEnum) else state.name


def moves_by_event(table: Iterable[tuple[tuple[Enum, Enum], Enum]], states: type[Enum]) -> list[Move]:
    """Return the moves of a table of events. An event with the same result in each state is named once."""
    moves = [(name_of(state), str(event.value), name_of(to)) for (state, event), to in table]
    results = [move[1:] for move in moves]
    common = [result for result in dict.fromkeys(results) if results.count(result) == len(states)]
    return [move for move in moves if move[1:] not in common] + [(ANY, *result) for result in common]


MACHINES: dict[str, list[Move]] = {
    "A connection (`broker/network/connection.py`)": moves_by_event(connection.NEXT.items(), connection.State),
    "The authentication of a connection (`broker/security/sasl/authenticator.py`)": moves_by_event(
        authenticator.NEXT.items(), authenticator.State
    ),
    "A classic group (`broker/groups/classic/group.py`)": [
        (name_of(state), "", name_of(to)) for state, after in group.NEXT.items() for to in group.State if to in after
    ],
}


def drawing(moves: list[Move]) -> str:
    """Return one line for each move, grouped by state."""
    width = max(len(state) for state, _, _ in moves)
    longest = max(len(event) for _, event, _ in moves)
    lines = []
    for state, found in groupby(moves, lambda move: move[0]):
        group = list(found)
        for number, (_, event, to) in enumerate(group):
            is_first, is_last = number == 0, number == len(group) - 1
            branch = "─" if is_first and is_last else "┬" if is_first else "└" if is_last else "├"
            start = f"{state} ".ljust(width + 2, "─") if is_first else " " * (width + 2)
            arrow = f"── {event} ".ljust(longest + 5, "─") if event else "──"
            lines.append(f"{start}{branch}{arrow}─> {to}")
    return "\n".join(lines)


def states() -> str:
    """Return a drawing of each state machine, below its name."""
    return "\n\n".join(f"{title}:\n\n```text\n{drawing(moves)}\n```" for title, moves in MACHINES.items())
