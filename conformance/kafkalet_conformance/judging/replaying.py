"""Perform a recorded scenario against a broker, and compare each response with the recorded one.

A case whose response cannot be compared is FAILED; the connections are then opened again, and the next step follows.
After `FAILURES` such cases, or if a step of the preparation fails, the remaining cases are FAILED for the same reason.
"""

import math
import os
import struct
import time
from typing import Any

from kafkalet.protocol.errors import ProtocolError
from kafkalet.sasl_client import NotAuthenticated
from kafkalet_conformance.playing.connection import Closed, NoAnswer, OutOfTime
from kafkalet_conformance.playing.matching import InOrder, Matcher, resolve
from kafkalet_conformance.playing.placement import is_about_one_broker, of_all_brokers
from kafkalet_conformance.playing.player import PAUSE_MS, Player, SetupFailed, compared_part
from kafkalet_conformance.playing.serving import Plan, asked, plan
from kafkalet_conformance.playing.target import Target
from kafkalet_conformance.playing.tolerances import IN_ORDER
from kafkalet_conformance.results import CaseResult, Difference, Outcome
from kafkalet_conformance.transcripts import Step, Transcript

from .configuration import Configuration

AS_RECORDED = Configuration()
UNUSABLE = (
    *(ProtocolError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, struct.error, OSError),
    *(Closed, NoAnswer, OutOfTime, SetupFailed),
)
"""The errors of a step whose response cannot be compared."""
FAILURES = 3
LAG_S = 2.0
"""How long a broker may lag behind, summed over all cases of a scenario."""
MAY_LAG = frozenset(
    {"Metadata", "DescribeAcls", "DescribeClientQuotas", "DescribeConfigs", "DescribeDelegationToken"}
    | {"DescribeTopicPartitions", "DescribeUserScramCredentials", "ListConfigResources"}
    | {"ListGroups", "DescribeGroups", "ConsumerGroupDescribe", "ShareGroupDescribe", "StreamsGroupDescribe"}
)
"""APIs whose responses may lag behind a change. A broker serves them from its copy of the cluster metadata, which it
updates after the controller has responded, or from the state of groups that all replicas of `__consumer_offsets` have
(GroupCoordinatorService). Records in `__consumer_offsets` may lag, too.
"""


def replay(
    transcript: Transcript,
    release: str,
    target: Target,
    deadline: float = math.inf,
    player: Player | None = None,
    configuration: Configuration = AS_RECORDED,
) -> list[CaseResult]:
    """Perform the steps that were recorded with `release`, and return the result of each case.

    The steps end at `deadline`, a time of `time.monotonic`.
    """
    player = player or Player(target, os.urandom(4).hex(), deadline)
    steps = with_versions(transcript.steps[release])
    try:
        made = prepared(transcript, steps, release, target, player)
    except UNUSABLE as error:
        player.close()
        return rest(steps, Plan(steps), 0, f"the coordinator is not found: {description(error)}", player)
    player.may_be_throttled = target.has_quotas or any(step.get("api") == "AlterClientQuotas" for step in steps)
    cases: list[CaseResult] = []
    failures, lag_s = 0, LAG_S
    try:
        for number, step in enumerate(made.steps):
            if number in made.verdicts:
                cases.append(not_compared(steps[number], *made.verdicts[number]))
            if number in made.skipped:
                continue
            try:
                answer = player.perform(step)
                if "case" in step:
                    in_order = not step.get("any_order") and ordered(transcript, step.get("api", ""))
                    case = compared(step, answer, player, in_order, configuration)
                    lag_until = time.monotonic() + (lag_s if may_lag(step) else 0)
                    while case.outcome is Outcome.DIFFERS and (left_s := lag_until - time.monotonic()) > 0:
                        lag_s = left_s
                        player.wait(PAUSE_MS)
                        case = compared(step, player.perform(step), player, in_order, configuration)
                    cases.append(case)
            except UNUSABLE as error:
                reason = description(error)
                failures += 1
                if "case" not in step or step.get("bind") or isinstance(error, OutOfTime) or failures == FAILURES:
                    where = f"step {number + 1}, {step.get('api', step['op'])}: {reason}"
                    cases += rest(steps, made, number, where, player)
                    break
                cases.append(failed(step, reason, player))
                player.reopen()
                continue
            if "case" in step and cases[-1].outcome is Outcome.FAILED:
                failures += 1
                if failures == FAILURES:
                    cases += rest(steps, made, number + 1, cases[-1].reason, player)
                    break
    finally:
        player.close()
    return cases


def with_versions(steps: list[Step]) -> list[Step]:
    """Return the steps with the version of the request in those that receive its response."""
    versions = {step["id"]: step["version"] for step in steps if step["op"] == "send"}
    return [
        {**step, "version": versions[step["id"]]} if step["op"] == "receive" and step["id"] in versions else step
        for step in steps
    ]


def prepared(transcript: Transcript, steps: list[Step], release: str, target: Target, player: Player) -> Plan:
    """Fit the steps to the versions and to the number of brokers of a cluster."""
    made = plan(steps, release, target.versions)
    if len(target.nodes) < 2:
        return made
    if "brokers" in transcript.needs:
        player.home = min(target.nodes)
        return made
    player.place(steps)
    for number, step in enumerate(steps):
        if number not in made.skipped and (reason := is_about_one_broker(step)):
            made.skipped.add(number)
            if "case" in step:
                made.verdicts.setdefault(number, (Outcome.NOT_RUN, reason))
    return made


def may_lag(step: Step) -> bool:
    """Return whether a request changes nothing, and reads something that a broker may not have received yet."""
    creates = step.get("api") == "Metadata" and step.get("body", {}).get("allow_auto_topic_creation", True)
    is_read = step["op"] == "state_records" or (step["op"] == "request" and step["api"] in MAY_LAG)
    return is_read and not creates and "bind" not in step


def description(error: BaseException) -> str:
    """Return why a response cannot be compared."""
    match error:
        case Closed():
            return "the broker closed the connection instead of responding"
        case NoAnswer():
            return "the broker did not respond in time"
        case OutOfTime():
            return "the time for the scenario is over" + (f": {error}" if str(error) else "")
        case NotAuthenticated():
            return str(error)
        case TimeoutError():
            return "the broker did not accept a connection in time"
        case OSError():
            return f"no connection to the broker: {error}"
    return f"{type(error).__name__}: {error}" if isinstance(error, LookupError | TypeError) else str(error)


def rest(steps: list[Step], made: Plan, first: int, reason: str, player: Player) -> list[CaseResult]:
    """Return the results of the cases that were not reached."""
    return [
        not_compared(step, *made.verdicts[number])
        if number in made.verdicts
        else failed(step, reason, player if number == first else None)
        for number, step in enumerate(steps)
        if number >= first and "case" in step
    ]


def not_compared(step: Step, outcome: Outcome, reason: str) -> CaseResult:
    """Return the result of a case that is not compared."""
    api, version = asked(step)
    return CaseResult(step["case"], step.get("api", api or ""), version, outcome, reason)


def failed(step: Step, reason: str, player: Player | None) -> CaseResult:
    """Return the result of a case without a response, with the request and what was received."""
    api = step.get("api", "")
    if player is None:
        return CaseResult(step["case"], api, step.get("version", -1), Outcome.FAILED, reason)
    return CaseResult(
        name=step["case"],
        api=api,
        version=step.get("version", -1),
        outcome=Outcome.FAILED,
        reason=reason,
        request=resolve(step.get("body"), player.names),
        expected=resolve(step["expect"], player.names),
        request_bytes=player.request_bytes,
        answer_bytes=player.answer_bytes,
    )


def ordered(transcript: Transcript, api: str) -> InOrder:
    """Return the arrays whose order is compared in the responses of an API."""
    return IN_ORDER.get(api, False) if transcript.in_order or api == "Fetch" else False


def compared(step: Step, answer: Any, player: Player, in_order: InOrder, configuration: Configuration) -> CaseResult:
    """Compare a response with the recorded one."""
    target = player.target
    expected = with_coordinator_epochs(advertised(resolve(step["expect"], player.names), target), player)
    if player.is_placed:
        expected = of_all_brokers(player.here(expected), target.nodes)
    expected = configuration.without_set_here(expected)
    actual = configuration.without_set_here(compared_part(step, answer, player.names))
    placeholders = {"$NODE": target.nodes.__contains__, "$CLUSTER": target.cluster_id.__eq__}
    differences = Matcher(placeholders, target.now_ms).differences(expected, actual, in_order)
    if (throttle_ms := answer.get("response", answer).get("throttle_time_ms", 0)) and not player.may_be_throttled:
        differences.append(Difference("throttle_time_ms", 0, throttle_ms))
    if not differences:
        return CaseResult(step["case"], step.get("api", ""), step.get("version", -1), Outcome.AS_KAFKA)
    if reason := without_answer(expected, actual):
        return failed(step, reason, player)
    return CaseResult(
        name=step["case"],
        api=step.get("api", ""),
        version=step.get("version", -1),
        outcome=Outcome.DIFFERS,
        differences=tuple(differences),
        request=resolve(step.get("body"), player.names),
        expected=expected,
        actual=actual,
        request_bytes=player.request_bytes,
        answer_bytes=player.answer_bytes,
    )


def without_answer(expected: Any, actual: Any) -> str:
    """Describe what happened instead of Kafka's response; "" if the broker responded or Kafka does not."""
    match expected, actual:
        case {"connection": _}, _:
            return ""
        case _, {"connection": "closed"}:
            return description(Closed())
        case _, {"connection": "no answer"}:
            return description(NoAnswer())
    return ""


def advertised(expected: Any, target: Target) -> Any:
    """Replace `$MAX` beside an API key with the version that the broker advertises."""
    match expected:
        case {"api_key": key, "max_version": "$MAX"}:
            return expected | {"max_version": target.versions.get(key, (0, -1))[1]}
        case dict():
            return {name: advertised(item, target) for name, item in expected.items()}
        case list():
            return [advertised(item, target) for item in expected]
    return expected


def with_coordinator_epochs(expected: Any, player: Player, producer_id: int = -1) -> Any:
    """Replace the coordinator epochs in markers, and in DescribeProducers, by those of the coordinators of this broker.

    They are leader epochs in `__transaction_state`: 0 on a new broker, like the recorded ones, and larger after a
    restart. An epoch of -1 means that the producer has no marker yet.
    """
    match expected:
        case {"coordinator_epoch": int(recorded)} if recorded >= 0:
            epoch = player.coordinator_epoch(expected.get("producer_id", producer_id))
            return expected | {"coordinator_epoch": recorded if epoch is None else epoch}
        case {"producer_id": producer_id, "marker": _, "records": [{"key": key, "value": value}]}:  # state_records
            epoch = player.coordinator_epoch(producer_id)
            value = value if epoch is None else f"{value[:-8]}{epoch:08x}"
            return expected | {"records": [{"key": key, "value": value}]}
        case dict():
            producer_id = expected.get("producer_id", producer_id)
            return {key: with_coordinator_epochs(item, player, producer_id) for key, item in expected.items()}
        case list():
            return [with_coordinator_epochs(item, player, producer_id) for item in expected]
    return expected
