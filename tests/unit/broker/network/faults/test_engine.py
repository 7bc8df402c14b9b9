"""Tests of what faults do to requests, of several faults, and of faults that act on a part of a request."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

import kafkalet
from kafkalet.clock import ManualClock
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet_conformance.transcripts import load

from .brokers import Asking, Sent, asking

NOT_LEADER = Code.NOT_LEADER_OR_FOLLOWER


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def ask(clock: ManualClock) -> Iterator[Asking]:
    with asking(clock=clock) as asked:
        asked.cluster.topic("t").create(2)
        asked.cluster.topic("u").create()
        yield asked


def produced(*partitions: int, topic: str = "t", acks: int = 1) -> dict[str, Any]:
    """Return the fields of a Produce request with one record for each partition."""
    batch = bytes(build_batch(numbered([(1000, None, b"value", ())])))
    data = [{"index": index, "records": batch} for index in partitions]
    return {"acks": acks, "timeout_ms": 1000, "topic_data": [{"name": topic, "partition_data": data}]}


def produce(ask: Asking, *partitions: int, topic: str = "t", acks: int = 1) -> Sent:
    return ask.send(Api.PRODUCE, 9, **produced(*partitions, topic=topic, acks=acks))


def produce_codes(answer: Any) -> dict[int, int]:
    """Return the error of each partition in a Produce response for one topic."""
    [topic] = answer["responses"]
    return {partition["index"]: partition["error_code"] for partition in topic["partition_responses"]}


def ends(ask: Asking) -> list[int]:
    return [ask.cluster.topic("t").log(index).log_end_offset for index in range(2)]


def fetch(ask: Asking, *partitions: int, wait_ms: int = 0, **session: Any) -> Sent:
    asked = [{"partition": index, "fetch_offset": 0, "partition_max_bytes": 1000} for index in partitions]
    topics = [{"topic": "t", "partitions": asked}] if asked else []
    return ask.send(Api.FETCH, 12, max_wait_ms=wait_ms, min_bytes=1, topics=topics, **session)


def fetch_codes(answer: Any) -> dict[int, int]:
    return {
        partition["partition_index"]: partition["error_code"]
        for topic in answer["responses"]
        for partition in topic["partitions"]
    }


# error


def test_refused_partition_gets_no_records_and_the_others_do(ask: Asking) -> None:
    with ask.cluster.fault("Produce", error="NOT_LEADER_OR_FOLLOWER", topic="t", partition=1):
        assert produce_codes(produce(ask, 0, 1).answer) == {0: 0, 1: NOT_LEADER}
    assert ends(ask) == [1, 0]


def test_error_without_topic_refuses_the_whole_request(ask: Asking) -> None:
    with ask.cluster.fault("Produce", error="NOT_LEADER_OR_FOLLOWER"):
        assert produce_codes(produce(ask, 0, 1).answer) == {0: NOT_LEADER, 1: NOT_LEADER}
    assert ends(ask) == [0, 0]


def test_refused_produce_without_acks_closes_the_connection(ask: Asking) -> None:
    with ask.cluster.fault("Produce", error="NOT_LEADER_OR_FOLLOWER", partition=1):
        sent = produce(ask, 0, 1, acks=0)
        assert sent.answer is None
    assert "acks=0" in sent.client.closed
    assert ends(ask) == [1, 0]


def test_error_of_another_topic_does_not_affect_the_request(ask: Asking) -> None:
    with ask.cluster.fault("Produce", error="NOT_LEADER_OR_FOLLOWER", topic="u", strict=False) as fault:
        assert produce_codes(produce(ask, 0).answer) == {0: 0}
    assert fault.fired == 0


def test_refused_partition_of_a_waiting_produce_request_is_in_its_response() -> None:
    with asking(brokers=2) as ask:
        ask.cluster.topic("t").create(assignments=[[1, 2], [1, 2]])
        held = ask.cluster.hold_replication(2)
        with ask.cluster.fault("Produce", error="NOT_LEADER_OR_FOLLOWER", partition=1):
            sent = produce(ask, 0, 1, acks=-1)
            assert sent.is_waiting
        held.release()
        assert produce_codes(sent.answer) == {0: 0, 1: NOT_LEADER}


def test_fetch_with_a_refused_partition_does_not_wait(ask: Asking) -> None:
    with ask.cluster.fault("Fetch", error="NOT_LEADER_OR_FOLLOWER", partition=1):
        assert fetch_codes(fetch(ask, 0, 1, wait_ms=60_000).answer) == {0: 0, 1: NOT_LEADER}


def test_partition_that_only_the_fetch_session_names_is_refused(ask: Asking) -> None:
    session = fetch(ask, 0, 1, session_id=0, session_epoch=0).answer["session_id"]
    with ask.cluster.fault("Fetch", error="NOT_LEADER_OR_FOLLOWER", topic="t", partition=1):
        answer = fetch(ask, wait_ms=60_000, session_id=session, session_epoch=1).answer
    assert fetch_codes(answer) == {1: NOT_LEADER}
    assert fetch_codes(fetch(ask, session_id=session, session_epoch=2).answer) == {1: 0}


def test_session_error_refuses_the_whole_fetch(ask: Asking) -> None:
    with ask.cluster.fault("Fetch", error="FETCH_SESSION_ID_NOT_FOUND"):
        answer = fetch(ask, 0, session_id=0, session_epoch=0).answer
    assert answer["error_code"] == Code.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize("version", [0, 1, 12])
def test_metadata_of_all_topics_has_the_brokers_and_the_error_of_one_topic(ask: Asking, version: int) -> None:
    topics = [] if version == 0 else None
    with ask.cluster.fault("Metadata", error="LEADER_NOT_AVAILABLE", topic="t"):
        answer = ask(Api.METADATA, version, topics=topics)
    assert {topic["name"]: topic["error_code"] for topic in answer["topics"]} == {"t": 5, "u": 0}
    assert len(answer["brokers"]) == 1


@pytest.mark.parametrize("version", [0, 12])
def test_metadata_with_an_error_for_every_topic_has_the_brokers(ask: Asking, version: int) -> None:
    with ask.cluster.fault("Metadata", error="LEADER_NOT_AVAILABLE"):
        answer = ask(Api.METADATA, version, topics=[{"name": "t"}])
    assert [(topic["name"], topic["error_code"]) for topic in answer["topics"]] == [("t", 5)]
    assert len(answer["brokers"]) == 1


def test_metadata_has_the_error_of_one_partition(ask: Asking) -> None:
    with ask.cluster.fault("Metadata", error="LEADER_NOT_AVAILABLE", topic="t", partition=1):
        [topic] = ask(Api.METADATA, 12, topics=[{"name": "t"}])["topics"]
    found = {each["partition_index"]: (each["error_code"], each["leader_id"]) for each in topic["partitions"]}
    assert found == {0: (0, 1), 1: (5, -1)}


@pytest.mark.parametrize(("options", "codes"), [({}, {"t": 29, "u": 29}), ({"topic": "t"}, {"t": 29, "u": 0})])
def test_topics_of_an_empty_list_are_refused(ask: Asking, options: dict[str, str], codes: dict[str, int]) -> None:
    """An empty list requests all topics."""
    with ask.cluster.fault("DescribeTopicPartitions", error="TOPIC_AUTHORIZATION_FAILED", **options):  # type: ignore[arg-type]
        answer = ask(Api.DESCRIBE_TOPIC_PARTITIONS, 0, topics=[])
    assert {topic["name"]: topic["error_code"] for topic in answer["topics"]} == codes


def test_one_of_many_topics_is_refused(ask: Asking) -> None:
    """The request is decoded in a thread, and its response is encoded in a thread."""
    names = [f"{number}-{'x' * 200}" for number in range(5000)]
    with ask.cluster.fault("Metadata", error="TOPIC_AUTHORIZATION_FAILED", topic=names[7]):
        answer = ask(Api.METADATA, 12, topics=[{"name": name} for name in names], allow_auto_topic_creation=False)
    refused = [topic["name"] for topic in answer["topics"] if topic["error_code"] == Code.TOPIC_AUTHORIZATION_FAILED]
    assert refused == [names[7]]
    assert len(answer["topics"]) == 5000


def test_refused_topic_is_not_created(ask: Asking) -> None:
    with ask.cluster.fault("CreateTopics", error="INVALID_CONFIG", topic="a"):
        topics = [
            {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
            for name in "ab"
        ]
        answer = ask(Api.CREATE_TOPICS, 5, topics=topics, timeout_ms=1000, validate_only=False)
    assert {topic["name"]: topic["error_code"] for topic in answer["topics"]} == {"a": Code.INVALID_CONFIG, "b": 0}
    assert set(ask.cluster._server.metadata.topics) == {"t", "u", "b"}


def committed(ask: Asking, version: int, topics: Any) -> Any:
    """Commit offsets of group g in both partitions of t, and return the response to an OffsetFetch request."""
    ask(Api.FIND_COORDINATOR, 1, key="g", key_type=0)
    offsets = [{"partition_index": i, "committed_offset": 5 + i, "committed_metadata": ""} for i in range(2)]
    ask(Api.OFFSET_COMMIT, 5, group_id="g", topics=[{"name": "t", "partitions": offsets}])
    with ask.cluster.fault("OffsetFetch", error="UNSTABLE_OFFSET_COMMIT", topic="t", partition=1):
        if version < 8:
            return ask(Api.OFFSET_FETCH, version, group_id="g", topics=topics)
        return ask(Api.OFFSET_FETCH, version, groups=[{"group_id": "g", "topics": topics}])["groups"][0]


@pytest.mark.parametrize("version", [2, 7, 8, 10])
def test_offset_fetch_of_all_partitions_has_the_error_of_one(ask: Asking, version: int) -> None:
    [topic] = committed(ask, version, None)["topics"]
    found = {each["partition_index"]: (each["committed_offset"], each["error_code"]) for each in topic["partitions"]}
    assert found == {0: (5, 0), 1: (-1, Code.UNSTABLE_OFFSET_COMMIT)}


def recorded_refusals() -> dict[int, Any]:
    """Return the responses of Apache Kafka to OffsetFetch if the broker does not coordinate the group, keyed by
    version.
    """
    found = {}
    for step in load("coordinators_of_groups").steps["4.4"]:
        case = re.fullmatch(r"OffsetFetch v(\d+) elsewhere", step.get("case", ""))
        if case is not None:
            text = json.dumps(step["expect"]).replace("$g", "g").replace("$t", "t")
            found[int(case[1])] = json.loads(text, object_hook=_without_comments)
    return found


def _without_comments(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if not name.startswith("#")}


@pytest.mark.parametrize("version", range(2, 11))  # the versions with an error for the whole group
def test_refused_offset_fetch_has_the_shape_of_a_recorded_refusal(ask: Asking, version: int) -> None:
    named = {"topic_id": ask.cluster._server.metadata.topics["t"].topic_id} if version >= 10 else {"name": "t"}
    one_group = {"group_id": "g", "topics": [{**named, "partition_indexes": [0]}]}
    with ask.cluster.fault("OffsetFetch", error="NOT_COORDINATOR"):
        answer = ask(Api.OFFSET_FETCH, version, **one_group if version < 8 else {"groups": [one_group]})
    assert {key: answer[key] for key in recorded_refusals()[version]} == recorded_refusals()[version]


def test_one_group_of_a_request_for_several_is_refused(ask: Asking) -> None:
    with ask.cluster.fault("OffsetFetch", error="NOT_COORDINATOR", group="g"):
        groups = [{"group_id": group, "topics": None} for group in "gh"]
        answer = ask(Api.OFFSET_FETCH, 8, groups=groups)
    assert answer["groups"][-1]["error_code"] == Code.NOT_COORDINATOR


def test_error_for_a_group_refuses_its_heartbeat_only(ask: Asking) -> None:
    with ask.cluster.fault("Heartbeat", error="REBALANCE_IN_PROGRESS", group="g") as fault:
        for group in "hg":
            answer = ask(Api.HEARTBEAT, 4, group_id=group, generation_id=1, member_id="m")
    assert answer["error_code"] == Code.REBALANCE_IN_PROGRESS
    assert fault.fired == 1


# Responses


def test_request_without_response_is_handled(ask: Asking) -> None:
    with ask.cluster.fault("Produce", drop_response=True):
        sent = produce(ask, 0)
        assert sent.answer is None
    assert not sent.client.closed
    assert ends(ask) == [1, 0]


def test_error_of_the_handler_is_dropped_too(ask: Asking) -> None:
    """The handler raises UNKNOWN_MEMBER_ID, which becomes a response."""
    with ask.cluster.fault("Heartbeat", drop_response=True):
        assert ask(Api.HEARTBEAT, 4, group_id="g", generation_id=1, member_id="m") is None


@pytest.mark.parametrize(("disconnect", "end"), [("before", 0), ("after", 1)])
def test_disconnect_closes_the_connection(ask: Asking, disconnect: str, end: int) -> None:
    with ask.cluster.fault("Produce", disconnect=disconnect):
        sent = produce(ask, 0)
        assert sent.answer is None
    assert f"{disconnect} Produce v9 was handled" in sent.client.closed
    assert ends(ask) == [end, 0]


def test_throttle_time_is_in_the_response_and_mutes_the_client(ask: Asking) -> None:
    with ask.cluster.fault("Produce", throttle=0.7):
        sent = produce(ask, 0)
    assert sent.answer["throttle_time_ms"] == 700
    assert sent.client.muted_ms == 700


def test_throttle_time_can_be_combined_with_an_error(ask: Asking) -> None:
    with ask.cluster.fault("Produce", error="NOT_ENOUGH_REPLICAS", throttle=0.7):
        answer = produce(ask, 0).answer
    assert answer["throttle_time_ms"] == 700
    assert produce_codes(answer) == {0: Code.NOT_ENOUGH_REPLICAS}


# Requests that are held


def test_delayed_request_is_handled_after_the_delay(ask: Asking, clock: ManualClock) -> None:
    with ask.cluster.fault("Produce", delay=2):
        sent = produce(ask, 0)
        clock.advance(milliseconds=1999)
        assert ends(ask) == [0, 0]
        clock.advance(milliseconds=1)
        assert produce_codes(sent.answer) == {0: 0}


def test_delay_follows_client_time() -> None:
    with asking(topics=["t"]) as ask, ask.cluster.fault("Produce", delay=1000):
        sent = produce(ask, 0)
        ask.cluster.clock.advance(hours=1)
        assert sent.is_waiting
        ask.cluster.clock.advance(hours=1, sessions=True)
        assert produce_codes(sent.answer) == {0: 0}


def test_delay_can_be_combined_with_an_error(ask: Asking, clock: ManualClock) -> None:
    with ask.cluster.fault("Produce", delay=2, error="NOT_LEADER_OR_FOLLOWER"):
        sent = produce(ask, 0)
        clock.advance(milliseconds=2000)
        assert produce_codes(sent.answer) == {0: NOT_LEADER}


def test_hanging_requests_are_handled_in_order_when_released(ask: Asking) -> None:
    with ask.cluster.fault("Produce", hang=True) as fault:
        first, second = produce(ask, 0), produce(ask, 0)
        assert first.is_waiting
        fault.release()
        offsets = [sent.answer["responses"][0]["partition_responses"][0]["base_offset"] for sent in (first, second)]
        assert offsets == [0, 1]
        assert produce_codes(produce(ask, 0).answer) == {0: 0}


def test_removed_fault_releases_its_requests(ask: Asking) -> None:
    with ask.cluster.fault("Metadata", hang=True):
        sent = ask.send(Api.METADATA, 12, topics=None)
        assert sent.is_waiting
    assert sent.answer["topics"]


def test_barrier_holds_requests_until_all_have_arrived(ask: Asking) -> None:
    with ask.cluster.fault("Produce", barrier=3) as fault:
        sent = [produce(ask, 0), produce(ask, 0)]
        assert ends(ask) == [0, 0]
        sent.append(produce(ask, 0))
        assert [produce_codes(each.answer) for each in sent] == [{0: 0}] * 3
        assert not produce(ask, 0).is_waiting
    assert fault.fired == 3


def test_restarted_broker_has_the_faults() -> None:
    with asking(brokers=2) as ask:
        ask.cluster.topic("t").create()
        with ask.cluster.fault("Metadata", error="LEADER_NOT_AVAILABLE", broker=2) as fault:
            ask.cluster.broker(2).stop()
            ask.cluster.broker(2).start()
            assert ask(Api.METADATA, 12, topics=[{"name": "t"}])["topics"][0]["error_code"] == 0
            assert ask(Api.METADATA, 12, node=2, topics=[{"name": "t"}])["topics"][0]["error_code"] == 5
    assert fault.fired == 1


# Several faults


def test_faults_fire_in_the_order_in_which_they_were_set(ask: Asking) -> None:
    with (
        ask.cluster.fault("Produce", error="NOT_LEADER_OR_FOLLOWER", times=1) as first,
        ask.cluster.fault("Produce", error="NOT_ENOUGH_REPLICAS") as second,
    ):
        codes = [produce_codes(produce(ask, 0).answer)[0] for _ in range(3)]
    assert codes == [Code.NOT_LEADER_OR_FOLLOWER, Code.NOT_ENOUGH_REPLICAS, Code.NOT_ENOUGH_REPLICAS]
    assert (first.fired, second.fired) == (1, 2)


def test_router_has_no_hooks_without_faults(ask: Asking) -> None:
    router = ask.cluster._server.brokers[1].router
    with ask.cluster.fault("Produce", delay=1, strict=False):
        assert router.hooks.intercept is not None
    hooks = [router.hooks.intercept, router.hooks.shaping]
    assert hooks == [None, None]


# Responses that a function changes


def metadata(ask: Asking) -> Sent:
    return ask.send(Api.METADATA, 9, topics=[{"name": "t"}], allow_auto_topic_creation=False)


def test_function_changes_the_response(ask: Asking) -> None:
    def respond(request: Any, response: Any) -> None:
        assert [topic.name for topic in request.topics] == ["t"]
        response.topics[0].name = "changed"

    with ask.cluster.fault("Metadata", respond=respond):
        assert metadata(ask).answer["topics"][0]["name"] == "changed"
    assert metadata(ask).answer["topics"][0]["name"] == "t"


def test_function_replaces_the_response(ask: Asking) -> None:
    with ask.cluster.fault(
        "Metadata", respond=lambda request, response: type(response)(controller_id=7, brokers=[], topics=[])
    ):
        answer = metadata(ask).answer
    assert (answer["controller_id"], answer["topics"]) == (7, [])


def test_function_drops_the_response(ask: Asking) -> None:
    with ask.cluster.fault("Metadata", respond=lambda request, response: kafkalet.DROP):
        assert metadata(ask).data == b""


def test_function_gets_the_response_with_the_error(ask: Asking) -> None:
    def respond(request: Any, response: Any) -> None:
        codes.append(response.topics[0].error_code)

    codes: list[int] = []
    with ask.cluster.fault("Metadata", error="LEADER_NOT_AVAILABLE", respond=respond):
        metadata(ask)
    assert codes == [Code.LEADER_NOT_AVAILABLE]


def test_function_changes_the_records_of_a_fetch(ask: Asking) -> None:
    def respond(request: Any, response: Any) -> None:
        for partition in response.responses[0].partitions:
            partition.records = b""

    produce(ask, 0)
    with ask.cluster.fault("Fetch", respond=respond):
        [topic] = fetch(ask, 0).answer["responses"]
    assert not topic["partitions"][0]["records"]
    [topic] = fetch(ask, 0).answer["responses"]
    assert topic["partitions"][0]["records"]


@pytest.mark.parametrize("result", ["text", 1 / 7])
def test_result_of_another_type_fails_the_test_and_leaves_the_response(ask: Asking, result: object) -> None:
    fault = ask.cluster.fault("Metadata", respond=lambda request, response: result)
    assert metadata(ask).answer["topics"][0]["name"] == "t"
    with pytest.raises(AssertionError, match=r"called a function that raised TypeError: respond= returned .*Metadata"):
        fault.__exit__(None, None, None)
