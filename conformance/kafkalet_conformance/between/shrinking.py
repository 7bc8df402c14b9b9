"""Shorten a history: remove everything that is not needed to show its difference."""

import copy
import time
from collections.abc import Iterator
from typing import Any

from kafkalet_conformance.judging.replaying import UNUSABLE
from kafkalet_conformance.transcripts import Step

from .pair import Pair

PATIENCE_S = 40
"""The time limit for one history."""
OPTIONAL = (
    "set", "codec", "headers", "ts_type", "offset_delta", "inner_offsets", "transactional", "rack_id",
    "replica_state", "assignments", "forgotten_topics_data", "isolation_level", "max_bytes", "min_bytes",
    "max_wait_ms", "current_leader_epoch", "last_fetched_epoch", "log_start_offset", "replica_id", "acks",
    "producer_id", "acknowledgement_batches", "is_renew_ack", "share_acquire_mode", "bind_said",
)  # fmt: skip


class Shrinker:
    """Removes the steps and fields that are not needed to show a difference."""

    def __init__(self, pair: Pair, kind: tuple[Any, ...]) -> None:
        self.pair, self.kind = pair, kind
        self.deadline = time.monotonic() + PATIENCE_S

    def shrunk(self, steps: list[Step]) -> list[Step]:
        size = max(len(steps) // 2, 1)
        while size:
            at = 0
            while at < len(units(steps)) - 1:
                kept = units(steps)
                del kept[at : min(at + size, len(kept) - 1)]
                steps, less = self.either(steps, [step for unit in kept for step in unit])
                at += 0 if less else size
            size //= 2
        for _ in range(2):
            steps = self.simplified(steps)
        return steps

    def simplified(self, steps: list[Step]) -> list[Step]:
        for place in reversed(list(parts(steps, ()))):
            candidate = copy.deepcopy(steps)
            parent: Any = candidate
            try:
                for key in place[:-1]:
                    parent = parent[key]
                del parent[place[-1]]
            except (LookupError, TypeError):
                continue
            steps, _ = self.either(steps, candidate)
        return steps

    def either(self, steps: list[Step], less: list[Step]) -> tuple[list[Step], bool]:
        """Return the shorter steps, truncated after the difference, if they still show it; else the original steps."""
        if time.monotonic() > self.deadline:
            return steps, False
        try:
            found = self.pair.first_difference(less)
        except UNUSABLE:
            return steps, False
        if found is None or found.kind(less) != self.kind:
            return steps, False
        return less[: found.index + 1], True


def units(steps: list[Step]) -> list[list[Step]]:
    """Group steps that must be removed together: waiting for a topic belongs to creating it, and incrementing the epoch
    of a session to the request before.
    """
    out: list[list[Step]] = []
    for step in steps:
        if out and (step["op"] == "poll_until" or (step["op"] == "let" and f"${step['name']}" in str(step["value"]))):
            out[-1].append(step)
        else:
            out.append([step])
    return out


def parts(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of list items and dict keys that may be removed."""
    match value:
        case dict():
            for key, item in value.items():
                if key in OPTIONAL:
                    yield (*path, key)
                yield from parts(item, (*path, key))
        case list():
            for n, item in enumerate(value):
                if path and len(value) > 1:
                    yield (*path, n)
                yield from parts(item, (*path, n))
