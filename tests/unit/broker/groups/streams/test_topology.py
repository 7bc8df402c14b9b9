from typing import Any

import pytest

from kafkalet.broker.groups.streams.topology import Status
from kafkalet.protocol.errors import Code
from tests.unit.broker.groups.streaming import Streaming, internal, subtopology

A = "a" * 22


def copartitioned(sources: list[int], repartition: list[int]) -> list[dict[str, Any]]:
    return [{"source_topics": sources, "source_topic_regex": [], "repartition_source_topics": repartition}]


def partitions(streaming: Streaming, *subtopologies: dict[str, Any]) -> dict[str, int]:
    """Let a member join, and return the partitions of the internal topics, which are created."""
    streaming.stage.cluster.topic("u").create(3)
    streaming.join(A, *subtopologies)
    topics = streaming.stage.cluster._server.metadata.topics
    return {name: len(of.partitions) for name, of in topics.items() if name[0] not in "_tu"}


@pytest.mark.parametrize(
    ("subtopologies", "expected"),
    [
        ([subtopology("0", "t", "u", state_changelog_topics=[internal("c")])], {"c": 3}),
        (
            [
                subtopology("0", "t", repartition_sink_topics=["r"]),
                subtopology("1", repartition_source_topics=[internal("r")], repartition_sink_topics=["s"]),
                subtopology("2", repartition_source_topics=[internal("s")], state_changelog_topics=[internal("c")]),
            ],
            {"r": 2, "s": 2, "c": 2},
        ),
        (
            [
                subtopology("0", "t", repartition_sink_topics=["r"]),
                subtopology("1", repartition_source_topics=[internal("r", 7)]),
            ],
            {"r": 7},
        ),
        (
            [
                subtopology("0", "t", repartition_sink_topics=["r"]),
                subtopology(
                    "1", "u", repartition_source_topics=[internal("r")], copartition_groups=copartitioned([0], [0])
                ),
            ],
            {"r": 3},
        ),
        (
            [
                subtopology("0", "t", repartition_sink_topics=["r"]),
                subtopology("1", "u", repartition_sink_topics=["s"]),
                subtopology(
                    "2",
                    repartition_source_topics=[internal("r"), internal("s")],
                    copartition_groups=copartitioned([], [0, 1]),
                ),
            ],
            {"r": 3, "s": 3},
        ),
    ],
    ids=["changelog", "chain", "declared", "copartitioned with a source", "copartitioned"],
)
def test_partitions_of_internal_topics(
    streaming: Streaming, subtopologies: list[dict[str, Any]], expected: dict[str, int]
) -> None:
    assert partitions(streaming, *subtopologies) == expected


@pytest.mark.parametrize(
    ("subtopologies", "expected"),
    [
        (
            [subtopology("0", "t", "u", copartition_groups=copartitioned([0, 1], []))],
            "Following topics do not have the same number of partitions: [{t=2, u=3}]",
        ),
        (
            [
                subtopology("0", "t", repartition_sink_topics=["r"]),
                subtopology(
                    "1", "u", repartition_source_topics=[internal("r", 4)], copartition_groups=copartitioned([0], [0])
                ),
            ],
            "Number of partitions [4] of repartition topic [r] doesn't match number of partitions [3] of the source "
            "topic.",
        ),
        (
            [subtopology("0", "t", state_changelog_topics=[internal("u")])],
            "Existing topic u has different number of partitions: expected 2, found 3",
        ),
    ],
)
def test_wrong_number_of_partitions_is_reported(
    streaming: Streaming, subtopologies: list[dict[str, Any]], expected: str
) -> None:
    partitions(streaming, *subtopologies)
    assert streaming.statuses[A] == [(Status.INCORRECTLY_PARTITIONED_TOPICS, expected)]


@pytest.mark.parametrize(
    ("subtopologies", "code"),
    [
        ([subtopology("0")], Code.STREAMS_INVALID_TOPOLOGY),
        ([subtopology("0", "t"), subtopology("1", repartition_source_topics=[internal("r")])], 130),
        ([subtopology("0", repartition_source_topics=[internal("r")], repartition_sink_topics=["r"])], 130),
        ([subtopology("0", "t", state_changelog_topics=[internal("c", 3)])], Code.STREAMS_INVALID_TOPOLOGY),
        ([subtopology("0", "__consumer_offsets")], Code.STREAMS_INVALID_TOPOLOGY),
        ([subtopology("0", "a b")], Code.STREAMS_INVALID_TOPOLOGY),
        ([subtopology("0", "t", source_topic_regex=["t.*"])], Code.INVALID_REQUEST),
        ([subtopology("0", "t", copartition_groups=copartitioned([1], []))], Code.UNKNOWN_SERVER_ERROR),
        ([subtopology("0", "t"), subtopology("0", "t")], Code.UNKNOWN_SERVER_ERROR),
    ],
)
def test_topology_that_cannot_run_is_refused(
    streaming: Streaming, subtopologies: list[dict[str, Any]], code: int
) -> None:
    tasks: dict[str, object] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
    joining = tasks | {"topology": {"epoch": 0, "subtopologies": subtopologies}, "rebalance_timeout_ms": 1000}
    assert streaming.send(A, 0, **joining)["error_code"] == code


def test_long_lists_of_topics_are_shortened(streaming: Streaming) -> None:
    streaming.join(A, subtopology("0", *"vwxyz"))
    assert streaming.statuses[A] == [(1, "Source topics v, w, x and 2 additional topics are missing.")]
