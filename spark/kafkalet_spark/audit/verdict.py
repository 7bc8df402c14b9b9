"""The verdict of an audit, as text and as JSON.

exit status 0    everything was checked and agrees
            1    there are disagreements
            3    there are no disagreements, but not everything could be checked
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from kafkalet.formats import METADATA_TOPIC
from kafkalet.units import counted
from kafkalet_spark.logs.directory import UnlistedLog

from .causes import ONE_BY_ONE, Cause, causes_in_directory, causes_in_log, causes_together
from .comparing import Comparison
from .coverage import Coverage
from .directory_checks import DirectoryFacts
from .facts import numbers
from .findings import Finding, Findings, NotChecked
from .kafka_startup import State, reaction
from .offset_chain import COMPACTED
from .partition_audit import PartitionFacts

AGREES, DISAGREES, INCOMPLETE = 0, 1, 3


class Verdict(NamedTuple):
    """The result of an audit."""

    partitions: tuple[PartitionFacts, ...]
    compared: Comparison | None
    """The comparison with a live broker; None if there was no broker."""
    directories: tuple[DirectoryFacts, ...] = ()
    unlisted: tuple[UnlistedLog, ...] = ()
    """Partitions that exist but could not be listed."""
    not_chosen: int = 0
    """How many partitions belong to topics that were not selected."""

    @property
    def agrees(self) -> bool:
        """Whether everything was checked and agrees."""
        return self.exit_status == AGREES

    @property
    def is_complete(self) -> bool:
        """Whether everything could be checked."""
        return self.coverage.is_complete

    @property
    def exit_status(self) -> int:
        if any(found.total for found in self._all):
            return DISAGREES
        return AGREES if self.is_complete else INCOMPLETE

    @property
    def disagreements(self) -> int:
        """The number of disagreements, not counting those that are consequences of others."""
        return sum(1 + (cause.alike if cause.finding.fault in ONE_BY_ONE else 0) for cause in self.causes)

    @property
    def _all(self) -> list[Findings]:
        return [*(each.findings for each in self.directories), *(each.findings for each in self.partitions)]

    @property
    def findings(self) -> list[Finding]:
        """The findings that were kept: first those about directories, then the others by topic and partition."""
        return [finding for found in self._all for finding in found.found]

    @property
    def left_out(self) -> int:
        return sum(found.total for found in self._all) - len(self.findings)

    @property
    def causes(self) -> list[Cause]:
        """The findings, grouped by cause."""
        found = [cause for each in self.directories for cause in causes_in_directory(each.findings)]
        for facts in self.partitions:
            found += causes_in_log(facts.findings)
        return causes_together(found)

    @property
    def coverage(self) -> Coverage:
        """What was checked and what was not."""
        checked: Counter[str] = Counter()
        not_checked: list[NotChecked] = []
        for found in self._all:
            checked.update(found.checked)
            not_checked += found.not_checked
        aside = [
            f"{each.path}/{name} (a broker is deleting it)" for each in self.directories for name in each.being_deleted
        ]
        if self.not_chosen:
            aside.append(f"{counted(self.not_chosen, 'partition')} of topics that were not selected")
        aside += [
            f"{facts.log.name}: {counted(count, 'offset')} missing below the cleaner offset; whether the log cleaner "
            "removed or the broker lost the records is unknown"
            for facts in self.partitions
            if (count := facts.chain.left_out[COMPACTED])
        ]
        if self.compared is not None:
            not_checked += [NotChecked(None, None, self.compared.broker, what) for what in self._not_compared()]
            if any(facts.log.topic == METADATA_TOPIC for facts in self.partitions):
                aside.append(f"{METADATA_TOPIC} was not compared: brokers do not serve it to clients")
        segments = [segment for facts in self.partitions for segment in facts.log.segments]
        unread = {skipped.path for skipped in not_checked}
        read = [facts for facts in self.partitions if not unread.intersection(each.path for each in facts.log.segments)]
        return Coverage(
            len(self.partitions) + len(self.unlisted),
            len(read),
            len(segments),
            sum(segment.path not in unread for segment in segments),
            self.total("size"),
            checked,
            tuple({(skipped.path, skipped.reason): skipped for skipped in reversed(not_checked)}.values())[::-1],
            tuple(aside),
        )

    def _not_compared(self) -> Iterator[str]:
        assert self.compared is not None
        yield from (f"not compared: {what}" for what in self.compared.not_compared)
        yield from (f"broker error: {what}" for what in self.compared.refused)

    def total(self, name: str) -> int:
        """Return the value with this name in `facts.numbers`, summed over all logs."""
        return sum(numbers(facts)[name] for facts in self.partitions)

    def on_start(self, finding: Finding) -> str:
        """Return how Apache Kafka reacts to a finding on its next start."""
        facts = next(
            (f for f in self.partitions if (f.log.topic, f.log.partition) == (finding.topic, finding.partition)), None
        )
        return reaction(finding, State.of(facts.log, facts.companions, finding) if facts is not None else State())

    def lines(self) -> Iterator[str]:
        """Yield the verdict as text: the disagreements, the coverage and a summary."""
        for cause in self.causes:
            yield str(cause.finding)
            yield f"    Kafka: {self.on_start(cause.finding)}"
            for line in cause.lines():
                yield f"    {line}"
        if self.compared is not None:
            yield str(self.compared)
            yield from (f"explained: {what}" for what in self.compared.explained)
        yield from self.coverage.lines()
        yield self.summary

    @property
    def summary(self) -> str:
        """The numbers and the verdict, in one line."""
        found = [counted(len(self.partitions), "partition"), counted(self.total("segments"), "segment")]
        found += [counted(self.total("size"), "byte"), counted(self.total("records"), "record")]
        return f"{', '.join(found)}: {self.word}"

    @property
    def word(self) -> str:
        """The verdict in a few words."""
        skipped = len(self.coverage.not_checked)
        unchecked = f"{skipped:,} {'item was' if skipped == 1 else 'items were'} not checked"
        if self.exit_status == AGREES:
            return "everything agrees"
        if self.exit_status == INCOMPLETE:
            return f"no disagreements, but {unchecked}"
        count = self.disagreements
        return f"{count:,} disagreement{'s' if count > 1 else ''}" + (f", {unchecked}" if skipped else "")

    def as_json(self) -> str:
        """Return the contents of verdict.json."""
        contents: dict[str, Any] = {
            "agrees": self.agrees,
            "exit_status": self.exit_status,
            "is_complete": self.is_complete,
            "disagreements": self.disagreements,
            "causes": [self._cause(cause) for cause in self.causes],
            "findings": [finding._asdict() for finding in self.findings],
            "findings_left_out": self.left_out,
            "coverage": self.coverage.as_dict(),
            "partitions": [self._partition(facts) for facts in self.partitions],
            "compared_with_broker": None if self.compared is None else self.compared._asdict(),
        }
        return json.dumps(contents, indent=1, ensure_ascii=False) + "\n"

    def _cause(self, cause: Cause) -> dict[str, Any]:
        return {
            **cause.finding._asdict(),
            "on_start": self.on_start(cause.finding),
            "alike": cause.alike,
            "consequences": dict(Counter(finding.check for finding in cause.consequences)),
            "consequences_left_out": cause.left_out,
        }

    @staticmethod
    def _partition(facts: PartitionFacts) -> dict[str, Any]:
        return {
            "topic": facts.log.topic,
            "partition": facts.log.partition,
            "path": facts.log.path,
            "agrees": facts.findings.total == 0 and not facts.findings.not_checked,
            **numbers(facts),
        }
