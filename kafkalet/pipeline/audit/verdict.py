"""Does all that was audited agree? With the numbers, as JSON and in lines for people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from .comparing import Comparison
from .facts import heaviest, numbers
from .findings import Finding
from .partition_audit import PartitionFacts


class Verdict(NamedTuple):
    """What an audit ends with."""

    partitions: tuple[PartitionFacts, ...]
    compared: Comparison | None
    """With the answers of a live broker; None: none was asked."""

    @property
    def agrees(self) -> bool:
        """Nothing is wrong anywhere."""
        return self.disagreements == 0

    @property
    def disagreements(self) -> int:
        return sum(facts.findings.total for facts in self.partitions)

    @property
    def findings(self) -> list[Finding]:
        """By topic and partition. Of one kind in one file, the first ones; `left_out` counts the others."""
        return [finding for facts in self.partitions for finding in facts.findings.found]

    @property
    def left_out(self) -> int:
        return self.disagreements - len(self.findings)

    @property
    def exit_status(self) -> int:
        """0 if all agrees, else 1."""
        return 0 if self.agrees else 1

    def total(self, name: str) -> int:
        """The sum over all logs of one of the numbers of `facts.numbers`."""
        return sum(numbers(facts)[name] for facts in self.partitions)

    def lines(self) -> Iterator[str]:
        """What is wrong, and at last how much was looked at."""
        for facts in self.partitions:
            yield from map(str, facts.findings.found)
            for check, file, count in facts.findings.left_out():
                yield f"{check}: {count} more ({facts.log.name}{f'; {file}' if file else ''})"
        if self.compared is not None:
            yield str(self.compared)
        yield self.summary

    @property
    def summary(self) -> str:
        """One sentence."""
        size = f"{len(self.partitions)} partitions, {self.total('segments')} segments, {self.total('size'):,} bytes"
        word = "all agrees" if self.agrees else f"{self.disagreements:,} disagreements"
        return f"{size}, {self.total('records'):,} records: {word}"

    def as_json(self, heaviest_keys: int) -> str:
        """verdict.json."""
        told: dict[str, Any] = {
            "agrees": self.agrees,
            "disagreements": self.disagreements,
            "findings": [finding._asdict() for finding in self.findings],
            "findings_left_out": self.left_out,
            "partitions": [self._partition(facts, heaviest_keys) for facts in self.partitions],
            "compared_with_broker": None if self.compared is None else self.compared._asdict(),
        }
        return json.dumps(told, indent=1, ensure_ascii=False) + "\n"

    @staticmethod
    def _partition(facts: PartitionFacts, heaviest_keys: int) -> dict[str, Any]:
        return {
            "topic": facts.log.topic,
            "partition": facts.log.partition,
            "path": facts.log.path,
            "agrees": facts.findings.total == 0,
            **numbers(facts),
            "distinct_keys_are_exact": facts.keys.distinct_is_exact,
            "heaviest_keys_are_too_low_by": facts.keys.too_low_by,
            "heaviest_keys": [{"key": key, "records": count} for key, count in heaviest(facts, heaviest_keys)],
            "codecs": {
                name: {"entries": entries, "records": records, "bytes": size}
                for name, (entries, records, size) in facts.sizes.codecs().items()
            },
        }
