"""Every fault has a description of Kafka's reaction. (tests/oracle verifies them.)"""

from __future__ import annotations

from kafkalet_spark.audit.findings import Finding
from kafkalet_spark.audit.kafka_startup import REACTIONS, State, reaction


def finding(fault: str) -> Finding:
    return Finding("file", "t", 0, None, None, None, "", fault)


def test_reaction_depends_on_the_last_shutdown() -> None:
    texts = [reaction(finding("zeros"), state) for state in (State(), State(is_active=True), State(is_recovered=True))]
    assert [text.split()[0] for text in texts] == ["serves", "refuses", "cuts"]


def test_reaction_without_variants_is_always_the_same() -> None:
    states = (State(), State(is_active=True), State(is_recovered=True))
    assert len({reaction(finding("foreign-directory"), state) for state in states}) == 1


def test_reactions_are_phrases_with_the_subject_kafka() -> None:
    for fault, result in REACTIONS.items():
        for text in (result.clean, result.unclean, result.active):
            assert text is None or (text[0].islower() and not text.endswith(".")), fault
