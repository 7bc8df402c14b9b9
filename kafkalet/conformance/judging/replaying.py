"""Perform a recorded scenario against a broker, and compare each answer with the recorded one."""

import os
import struct
from typing import Any

from kafkalet.conformance.playing.connection import Closed, NoAnswer
from kafkalet.conformance.playing.matching import InOrder, Matcher, resolve
from kafkalet.conformance.playing.player import Player, SetupFailed, compared_part
from kafkalet.conformance.playing.target import Target
from kafkalet.conformance.results import CaseResult, Outcome
from kafkalet.conformance.transcripts import Step, Transcript
from kafkalet.protocol.errors import ProtocolError

UNUSABLE = (ProtocolError, ValueError, LookupError, struct.error, OSError, Closed, NoAnswer, SetupFailed)
"""The errors of a step whose answer cannot be compared."""
IN_ORDER: dict[str, InOrder] = {
    **dict.fromkeys(("AlterPartitionReassignments", "CreatePartitions", "CreateTopics", "DescribeQuorum"), True),
    **dict.fromkeys(("DescribeTopicPartitions", "Fetch", "FindCoordinator", "IncrementalAlterConfigs"), True),
    **dict.fromkeys(("ListConfigResources", "UpdateFeatures"), True),
    "Metadata": frozenset({"topics"}),  # 3.9 returns partitions in the order of a hash set
}
"""Arrays that Kafka returns in the order of the request or of ids. The order of all others depends on hash tables."""


def replay(transcript: Transcript, release: str, target: Target) -> list[CaseResult]:
    """Perform the steps that were recorded with `release`, and return the result of each case."""
    player = Player(target, os.urandom(4).hex())
    cases: list[CaseResult] = []
    steps = transcript.steps[release]
    try:
        for number, step in enumerate(steps):
            try:
                answer = player.perform(step)
            except (
                ProtocolError,
                ValueError,
                LookupError,
                struct.error,
                OSError,
                Closed,
                NoAnswer,
                SetupFailed,
            ) as error:
                reason = f"step {number + 1}: {type(error).__name__}: {error}"
                cases += [_failed(each, reason) for each in steps[number:] if "case" in each]
                break
            if "case" in step:
                cases.append(compared(step, answer, player, ordered(transcript, step.get("api", ""))))
    finally:
        player.close()
    return cases


def _failed(step: Step, reason: str) -> CaseResult:
    return CaseResult(step["case"], step.get("api", ""), step.get("version", -1), Outcome.FAILED, reason)


def ordered(transcript: Transcript, api: str) -> InOrder:
    """Return the arrays of an API's answers whose order is compared."""
    return IN_ORDER.get(api, False) if transcript.in_order or api == "Fetch" else False


def compared(step: Step, answer: Any, player: Player, in_order: InOrder) -> CaseResult:
    """Compare an answer with the recorded one."""
    target = player.target
    expected = advertised(resolve(step["expect"], player.names), target)
    actual = compared_part(step, answer, player.names)
    placeholders = {"$NODE": target.nodes.__contains__, "$CLUSTER": target.cluster_id.__eq__}
    differences = Matcher(placeholders, target.now_ms).differences(expected, actual, in_order)
    return CaseResult(
        name=step["case"],
        api=step.get("api", ""),
        version=step.get("version", -1),
        outcome=Outcome.DIFFERS if differences else Outcome.AS_KAFKA,
        differences=tuple(differences),
        request=resolve(step.get("body"), player.names),
        expected=expected,
        actual=actual,
    )


def advertised(expected: Any, target: Target) -> Any:
    """Replace `$MAX` beside an API key by the version that the broker advertises."""
    match expected:
        case {"api_key": key, "max_version": "$MAX"}:
            return expected | {"max_version": target.versions[key][1]}
        case dict():
            return {name: advertised(item, target) for name, item in expected.items()}
        case list():
            return [advertised(item, target) for item in expected]
    return expected
