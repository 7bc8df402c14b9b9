"""The report about a cluster in a failed test: the last requests, logs, groups, open transactions and faults."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from kafkalet.clock import elapsed_s

from .clients import MOST_LINES, limited, open_transactions, safely

if TYPE_CHECKING:
    from kafkalet.broker.network.exchange import Exchange
    from kafkalet.embedded import EmbeddedCluster

MOST_REQUESTS = 20
"""The maximum number of lines for polls, which repeat or wait, and for other requests. Many consumers may be idle."""
MOST_FOLDED = 2000
"""How many requests are searched for repetitions."""
_DIFFERS = re.compile(r"( session=\d+)/\d+| in [\d.]+ ms(?: \(waited\))?$")
"""The parts that differ between repetitions of a request: the epoch of the fetch session, and the duration."""
MOST_LAGS = 10
"""The largest number of partitions shown for a group."""


def report(cluster: EmbeddedCluster, faults: list[str]) -> str:
    """Return a description of the cluster, as lines of text, with a line for each fault. Never raises an exception."""
    return read(cluster, faults)()


def read(cluster: EmbeddedCluster, faults: list[str]) -> Callable[[], str]:
    """Return a function that describes the cluster as it is now, even after it has stopped. Only this function decodes
    requests, because most tests pass. Neither raises an exception.
    """
    now_s = elapsed_s()
    requests: list[Callable[[], list[Exchange]]] = []

    def keep_requests() -> list[str]:
        if cluster._server.journal is not None:
            requests.append(cluster._server.journal.latest(MOST_FOLDED))
        return []

    def in_loop(look: Callable[[], list[str]]) -> list[str]:
        return safely(lambda: cluster._server.call(look))

    failure = in_loop(keep_requests)
    others = (
        ("Logs:", in_loop(lambda: _logs(cluster))),
        ("Groups:", in_loop(lambda: _groups(cluster))),
        ("Open transactions:", in_loop(lambda: list(open_transactions(cluster)))),
        ("Faults:", faults),
    )

    def describe() -> str:
        found = failure or safely(lambda: [line for latest in requests for line in _requests(latest(), now_s)])
        parts = [("The last requests, with the time before now:", found, 2 * MOST_REQUESTS)]
        parts += [(title, lines, MOST_LINES) for title, lines in others]
        lines = [
            line
            for title, lines, most in parts
            if lines
            for line in (title, *(f"  {line}" for line in limited(lines, most)))
        ]
        return "\n".join(lines) or "no requests, records, groups or transactions"

    return describe


def _requests(exchanges: list[Exchange], now_s: float) -> list[str]:
    """Return a line for each of the last requests. Repetitions, such as the polls of a consumer, are one line."""
    same: dict[str, list[Exchange]] = {}
    """Requests with the same text, the latest first, by this text."""
    for each in reversed(exchanges[-MOST_FOLDED:]):
        text = each.text(now_s) if each.is_waiting else _DIFFERS.sub(r"\1", each.text(now_s))
        same.setdefault(text, []).append(each)
    lines = []
    left = {True: MOST_REQUESTS, False: MOST_REQUESTS}
    for text, exchanges in same.items():
        latest = exchanges[0]
        is_poll = len(exchanges) > 1 or latest.is_waiting
        if not left[is_poll]:
            continue
        left[is_poll] -= 1
        times = f", {len(exchanges)} times in {latest.began_s - exchanges[-1].began_s:.1f} s"
        shown = text + times if len(exchanges) > 1 else latest.text(now_s)
        lines.append(f"-{now_s - latest.began_s:.3f} s  {shown}")
    return lines[::-1]


def _logs(cluster: EmbeddedCluster) -> list[str]:
    server, lines = cluster._server, []
    for topic, state in server.metadata.all_partitions():
        name = f"{topic.name}-{state.index}"
        if topic.name.startswith("__"):
            continue
        if state.leader not in server.nodes:
            lines.append(f"{name}: no leader")
            continue
        log = server.leadership.leader_of(topic.name, state.index).log
        if log.log_end_offset:
            isr = "" if len(state.isr) == len(state.replicas) else f", in sync {sorted(state.isr)} of {state.replicas}"
            lines.append(
                f"{name}: log start offset {log.log_start_offset}, last stable offset "
                f"{log.last_stable_offset}, high watermark {log.high_watermark}, log end offset {log.log_end_offset}, "
                f"leader {state.leader}{isr}"
            )
    return lines


def _groups(cluster: EmbeddedCluster) -> list[str]:
    from .group import all_shards, is_share_group, see

    groups = [
        (group.is_empty, group_id, shard) for shard in all_shards(cluster) for group_id, group in shard.groups.items()
    ]
    groups.sort(key=lambda each: each[:2])  # those with members first
    lines: list[str] = []
    for at, (_, group_id, shard) in enumerate(groups):
        if len(lines) >= MOST_LINES:  # the lag of many groups takes long
            return [*lines[: MOST_LINES - 1], f"... {len(groups) - at} more groups"]
        is_share = is_share_group(shard.groups[group_id])
        seen = see(cluster, shard, group_id, is_share=is_share)
        clients = ", ".join(member.client_id for member in seen.members) or "none"
        positions = [str(each) for each in (*seen.unknown, *seen.positions)]
        lines.append(f"{group_id}: {'share group, ' if is_share else ''}{seen.state}, members: {clients}")
        lines += [f"  {position}" for position in limited(positions, MOST_LAGS)]
    return lines
