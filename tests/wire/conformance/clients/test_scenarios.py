"""Scenarios with real clients, whose verdicts are known, and with clients that have one flaw."""

import sys

import pytest

from kafkalet_conformance.clients.results import Verdict

from .judged import driver, judged, judged_fake

RIGHT = [
    "produce-leader-moves",
    "consume-new-leader-epoch",
    "consume-out-of-range-latest",
    "consume-out-of-range-none",
    "consume-truncation",
    "group-unstable-offsets",
    "group-heartbeat-rebalance-in-progress",
    "produce-replicas-missing",
    "transaction-commit-answer-lost",
    "transaction-fenced",
    "transform",
    "consume-aborted",
    "consume-large-batch",
    "tagged-fields-fetch",
    "api-versions-unsupported",
    "share",
    "share-session-not-found",
]


@pytest.mark.parametrize("scenario", RIGHT)
def test_librdkafka_is_correct(scenario: str) -> None:
    result = judged(scenario, driver("confluent_kafka"))
    assert (result.verdict, result.findings) == (Verdict.CORRECT, [])


@pytest.mark.parametrize(
    ("scenario", "verdict"),
    [
        ("produce-answer-lost-acks-1", Verdict.AS_DOCUMENTED),  # at least once
        ("produce-out-of-order-sequence", Verdict.AS_DOCUMENTED),  # reported, but not recovered from (KIP-360)
        ("share-acknowledgement-lost", Verdict.AS_DOCUMENTED),  # at least once
        ("share-locks-expire", Verdict.AS_DOCUMENTED),
        ("consume-wrong-checksum", Verdict.CORRUPT),  # check.crcs is false by default
        ("consume-invalid-fetch-session-epoch", Verdict.NOT_RUN),  # it has no fetch sessions
        ("consume-waits-when-throttled", Verdict.TOO_FAST),  # it lists KIP-219 as not supported
    ],
)
def test_librdkafka_gets_known_verdict(scenario: str, verdict: Verdict) -> None:
    assert judged(scenario, driver("confluent_kafka")).verdict is verdict


@pytest.mark.parametrize(
    "scenario", ["consume-partitions", "produce-transaction", "consume-fetch-session-id-not-found"]
)
def test_kafka_python_is_correct(scenario: str) -> None:
    result = judged(scenario, driver("kafka_python"))
    assert (result.verdict, result.findings) == (Verdict.CORRECT, [])


@pytest.mark.parametrize(
    ("scenario", "flaw", "verdict"),
    [
        ("produce-retries-not-enough-replicas", "hurries", Verdict.TOO_FAST),
        ("produce-retries-not-enough-replicas", "none", Verdict.CORRECT),
        ("list-offsets-retries", "hurries", Verdict.TOO_FAST),
        ("list-offsets-retries", "none", Verdict.CORRECT),
        ("consume-wrong-checksum", "ignores-crc", Verdict.CORRUPT),
        ("consume-wrong-checksum", "none", Verdict.CORRECT),
        ("consume-ends-with-marker", "shows-markers", Verdict.HIDDEN),
        ("consume-ends-with-marker", "none", Verdict.CORRECT),
        ("consume-out-of-range-latest", "none", Verdict.CORRECT),
        ("consume-truncation", "none", Verdict.LOST),  # the fake client ignores leader epochs
        ("produce-answer-lost", "none", Verdict.DUPLICATED),  # it has no sequence numbers
        ("produce-answer-lost-acks-1", "none", Verdict.AS_DOCUMENTED),
        ("produce-unknown-error", "trusts", Verdict.IGNORED),
        ("produce-reports-message-too-large", "trusts", Verdict.LOST),
    ],
)
def test_fake_client_gets_verdict(scenario: str, flaw: str, verdict: Verdict) -> None:
    assert judged_fake(scenario, flaw, timeout_s=10).verdict is verdict


def test_share_consumer_finds_the_new_leader() -> None:
    result = judged("share-leader-moves", driver("confluent_kafka"))
    assert result.verdict in (Verdict.CORRECT, Verdict.AS_DOCUMENTED)  # a release may have been in flight


@pytest.mark.parametrize(
    ("flaw", "verdict"),
    [
        ("none", Verdict.CORRECT),
        ("hides", Verdict.LOST),
        ("repeats", Verdict.DUPLICATED),
        ("never-releases", Verdict.LOST),
        ("releases-the-last", Verdict.LOST),
    ],
)
def test_share_consumer_with_a_flaw_gets_verdict(flaw: str, verdict: Verdict) -> None:
    command = [sys.executable, "-m", "tests.wire.conformance.clients.flawed_share_client", flaw]
    assert judged("share", command).verdict is verdict


def test_client_that_sends_a_version_that_is_not_served_violates_the_protocol() -> None:
    result = judged_fake("consume", "is-old", timeout_s=1)
    [found] = [each for each in result.findings if each.verdict is Verdict.VIOLATED]
    assert "against the rule versions-advertised" in found.text
    assert "Fetch v3 is not served, only v4 to v18" in found.evidence[0]


@pytest.mark.parametrize("client", ["kafka_python", "aiokafka", "confluent_kafka"])
def test_clients_request_versions_and_wait_between_list_offsets(client: str) -> None:
    result = judged("list-offsets-retries", driver(client))
    assert (result.verdict, result.findings) == (Verdict.CORRECT, [])


def test_consumer_that_continues_at_log_start_instead_of_end_is_as_documented() -> None:
    result = judged_fake("consume-out-of-range-latest", "starts-over", timeout_s=10)
    assert [(each.verdict, each.text) for each in result.findings] == [
        (
            Verdict.AS_DOCUMENTED,
            "the client continued at the log start 20 instead of the end 30, and so skipped fewer records than "
            "auto.offset.reset=latest allows",
        )
    ]
