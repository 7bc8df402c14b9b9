import pickle
import random
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kafkalet
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkalet.protocol.records.build import build_batch, build_message_set, numbered
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.control import ControlType
from kafkalet_spark.decoding.batches import walk
from kafkalet_spark.decoding.exactly import Unreadable
from kafkalet_spark.live.reading import Fetched, LiveSplit, read_live
from kafkalet_spark.live.refusals import OffsetOutOfRange, PartitionRefused
from spark.tests.unit.live.histories import T0, Log, Step, build, steps

from .scripted import HANG_UP, Answer, ScriptedBroker, fetched, found

QUICK = {"retry.backoff.ms": "1", "default.api.timeout.ms": "300"}
COMMITTED = {**QUICK, "isolation.level": "read_committed"}


@pytest.fixture(scope="module")
def shared() -> Iterator[ScriptedBroker]:
    with ScriptedBroker() as running:
        yield running


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker() as running:
        yield running


def serving(log: Log, *, cut: bool = True) -> Callable[[FetchRequest], FetchResponse]:
    """Serve Fetch requests from this log: from the entry with the offset on, truncated at the size limit."""

    def answer(request: FetchRequest) -> FetchResponse:
        row = request.topics[0].partitions[0]
        committed = request.isolation_level == 1
        end = log.last_stable_offset if committed else log.end_offset
        begins = [each for each in log.offsets[:-1] if each < end]
        wanted = [
            index for index, each in enumerate(begins) if walk(log.batches[index])[0].last_offset[0] >= row.fetch_offset
        ]
        chosen = log.batches[wanted[0] : len(begins)] if wanted else []
        records = b"".join(chosen)
        if chosen and cut:
            records = records[: max(row.partition_max_bytes, len(chosen[0]))]
        aborted = [(who, first) for who, first, last in log.aborted if last >= row.fetch_offset and first < end]
        return fetched(records, aborted=aborted if committed else None, high_watermark=log.end_offset)

    return answer


def serve(broker: ScriptedBroker, log: Log) -> None:
    broker.forget()
    broker.script(Api.FETCH, *[serving(log)] * 1000)


def read(broker: ScriptedBroker, start: int, end: int, properties: dict[str, str] | None = None) -> list[Fetched]:
    return list(read_live(LiveSplit("t", 0, start, end), broker.bootstrap_servers, properties or QUICK))


def entries(parts: list[Fetched]) -> list[bytes]:
    return [
        bytes(part.buffer[position : position + size])
        for part in parts
        for position, size in zip(part.batches.position, part.batches.size, strict=True)
    ]


# Contents


@given(steps(), st.data())
def test_every_entry_of_a_split_is_read_once_in_order(
    shared: ScriptedBroker, course: list[Step], data: st.DataObject
) -> None:
    log = build(course)
    start = data.draw(st.integers(0, log.end_offset), label="start")
    end = data.draw(st.integers(start, log.end_offset), label="end")
    limit = data.draw(st.integers(0, 500), label="limit")
    serve(shared, log)
    parts = read(shared, start, end, {**QUICK, "max.partition.fetch.bytes": str(limit)})
    bounds = zip(log.offsets, log.offsets[1:], strict=False)
    expected = [log.batches[index] for index, (low, high) in enumerate(bounds) if low < end and high > start]
    assert entries(parts) == (expected if start < end else [])
    assert all(part.aborted is None and not part.problems for part in parts)


@given(steps(), st.data())
def test_read_committed_returns_what_a_consumer_sees(
    shared: ScriptedBroker, course: list[Step], data: st.DataObject
) -> None:
    log = build(course)
    limit = data.draw(st.integers(0, 500), label="limit")
    serve(shared, log)
    shown = []
    end = log.last_stable_offset
    for part in read(shared, 0, end, {**COMMITTED, "max.partition.fetch.bytes": str(limit)}):
        assert part.aborted is not None
        by_offset = part.batches.base_offset[:, None]
        within = (part.aborted.first_offset <= by_offset) & (by_offset <= part.aborted.last_offset)
        hidden = (within & (part.aborted.producer_id == part.batches.producer_id[:, None])).any(1)
        shown += part.batches.base_offset[~(hidden | part.batches.is_control)].tolist()
    assert shown == [at for at, hidden in zip(log.offsets, log.hidden, strict=False) if not hidden and at < end]


@given(steps(), st.sets(st.integers(0, 40)), st.integers(0, 300))
def test_compacted_log_is_read_to_its_end(
    shared: ScriptedBroker, course: list[Step], gone: set[int], limit: int
) -> None:
    """The last batch is kept, so that the end can always be reached."""
    log = build(course)
    last = len(log.batches) - 1
    kept = [index for index in range(last + 1) if index == last or index not in gone]
    rest = log._replace(
        batches=[log.batches[index] for index in kept], offsets=[*(log.offsets[i] for i in kept), log.end_offset]
    )
    serve(shared, rest)
    assert entries(read(shared, 0, log.end_offset, {**QUICK, "max.partition.fetch.bytes": str(limit)})) == rest.batches


def test_split_that_ends_in_a_gap_is_complete() -> None:
    log = build([Step(-1, 5), Step(-1, 5), Step(-1, 5)])
    rest = log._replace(batches=[log.batches[0], log.batches[2]], offsets=[0, 10, 15])
    with ScriptedBroker() as broker:
        serve(broker, rest)
        assert entries(read(broker, 0, 8)) == log.batches[:1]
        assert read(broker, 6, 8) == []


def test_split_that_ends_with_a_marker_is_complete(broker: ScriptedBroker) -> None:
    log = build([Step(1, 5), Step(1, end=ControlType.COMMIT)])
    serve(broker, log)
    assert entries(read(broker, 0, 6, COMMITTED)) == log.batches


def test_batch_with_compacted_last_records_keeps_its_end(broker: ScriptedBroker) -> None:
    short = build_batch(numbered([(T0, None, b"v", ())]), last_offset=99)
    serve(broker, Log([short], [0, 100], [], [False], 100))
    assert entries(read(broker, 0, 100)) == [short]
    assert len(broker.requests(Api.FETCH)) == 1


def test_empty_split_sends_no_request(broker: ScriptedBroker) -> None:
    assert read(broker, 5, 5) == read(broker, 7, 5) == []
    assert broker.connections == 0


@pytest.mark.parametrize("magic", [0, 1])
def test_wrappers_are_complete_at_both_ends(broker: ScriptedBroker, magic: int) -> None:
    """Their headers have only the last offset, so an entry after the end may still begin before it."""
    rows = [(T0 + number, None, b"v", ()) for number in range(10)]
    sets = [
        build_message_set(magic, numbered(rows, base), codec=Codec.GZIP, base_offset=base) for base in (0, 10, 20, 30)
    ]
    log = Log(sets, [0, 10, 20, 30, 40], [], [False] * 4, 40)
    serve(broker, log)
    assert entries(read(broker, 15, 25)) == sets[1:3]
    assert entries(read(broker, 15, 20)) == sets[1:2]
    assert entries(read(broker, 0, 40, {**QUICK, "max.partition.fetch.bytes": "1"})) == sets


def test_offsets_of_the_response_are_returned(broker: ScriptedBroker) -> None:
    broker.script(Api.FETCH, fetched(build([Step(-1)]).batches[0], high_watermark=77))
    [part] = read(broker, 0, 1)
    assert (part.high_watermark, part.last_stable_offset, part.log_start_offset) == (77, 77, 0)


def test_splits_are_picklable() -> None:
    split = LiveSplit("t", 3, 5, 7)
    assert pickle.loads(pickle.dumps(split)) == split


# Progress


def test_next_request_is_sent_before_a_part_is_returned(broker: ScriptedBroker) -> None:
    log = build([Step(-1)] * 3)
    serve(broker, log)
    parts = read_live(LiveSplit("t", 0, 0, 3), broker.bootstrap_servers, {"max.partition.fetch.bytes": "1"})
    next(parts)
    while len(broker.requests(Api.FETCH)) < 2:
        pass
    assert [request.topics[0].partitions[0].fetch_offset for request in broker.requests(Api.FETCH)] == [0, 1]
    assert len(list(parts)) == 2


def test_reading_can_be_stopped_early(broker: ScriptedBroker) -> None:
    serve(broker, build([Step(-1)] * 3))
    parts = read_live(LiveSplit("t", 0, 0, 3), broker.bootstrap_servers, {"max.partition.fetch.bytes": "1"})
    next(parts)
    parts.close()  # type: ignore[attr-defined]


def test_parts_stay_valid_while_others_are_read(broker: ScriptedBroker) -> None:
    log = build([Step(-1)] * 20)
    serve(broker, log)
    parts = read(broker, 0, 20, {**QUICK, "max.partition.fetch.bytes": "1"})
    assert len(parts) == 20
    assert entries(parts) == log.batches


def test_broken_connection_loses_and_repeats_nothing(broker: ScriptedBroker) -> None:
    log = build([Step(-1)] * 30)
    answers = [serving(log), HANG_UP, serving(log), fetched(None, error_code=Code.NOT_LEADER_OR_FOLLOWER)] * 30
    broker.script(Api.FETCH, *answers)
    assert entries(read(broker, 0, 30, {**QUICK, "max.partition.fetch.bytes": "100"})) == log.batches


TROUBLES = [
    HANG_UP,
    b"\0\0\1\0 half an answer",
    fetched(None, error_code=Code.NOT_LEADER_OR_FOLLOWER),
    fetched(None, error_code=Code.FENCED_LEADER_EPOCH),
    fetched(None, error_code=999),
    fetched(partition=2),
    fetched(whole_error=Code.UNKNOWN_SERVER_ERROR),
    fetched(),
    fetched(preferred=1),
]


@given(steps(), st.lists(st.sampled_from(TROUBLES), max_size=12), st.randoms(use_true_random=False))
def test_errors_lose_and_repeat_nothing(
    shared: ScriptedBroker, course: list[Step], troubles: list[Answer], chance: random.Random
) -> None:
    log = build(course)
    serve(shared, log)
    answers: list[Answer] = [serving(log)] * 300
    for trouble in troubles:
        at = chance.randrange(40)
        answers.insert(at, trouble)
        if isinstance(trouble, bytes):
            answers.insert(at + 1, HANG_UP)
    shared.forget()
    shared.script(Api.FETCH, *answers)
    result = {"retry.backoff.ms": "0", "max.partition.fetch.bytes": "80", "request.timeout.ms": "20"}
    assert entries(read(shared, 0, log.end_offset, result)) == log.batches


def test_batches_before_the_offset_are_left_out(broker: ScriptedBroker) -> None:
    log = build([Step(-1)] * 3)
    broker.script(Api.FETCH, fetched(b"".join(log.batches[:2])), fetched(b"".join(log.batches)))
    assert entries(read(broker, 0, 3)) == log.batches


# Errors


def test_missing_end_is_waited_for(broker: ScriptedBroker) -> None:
    log = build([Step(-1)] * 2)
    broker.script(Api.FETCH, fetched(log.batches[0]), fetched(), fetched(), fetched(log.batches[1]))
    assert entries(read(broker, 0, 2)) == log.batches


def test_missing_end_is_out_of_range_after_the_timeout(broker: ScriptedBroker) -> None:
    def at_one(request: object) -> object:
        answer = found(request)
        answer.topics[0].partitions[0].offset = len(broker.requests(Api.LIST_OFFSETS)) - 1
        return answer

    broker.script(Api.FETCH, fetched(build([Step(-1)]).batches[0]))
    broker.script(Api.LIST_OFFSETS, at_one, at_one)  # type: ignore[arg-type]
    parts = read_live(LiveSplit("t", 0, 0, 2), broker.bootstrap_servers, QUICK)
    assert next(parts).batches.count.tolist() == [1]
    with pytest.raises(OffsetOutOfRange, match="offset 1 is not in t-0, which has offsets 0 to 1"):
        next(parts)


def test_deleted_start_is_out_of_range() -> None:
    with kafkalet.Broker(topics=["t"]) as running:
        running.topic("t").append(build_batch(numbered([(T0, None, b"v", ())] * 10)))
        running._server.call(lambda: running._server.leadership.leader_of("t", 0).delete_records(4))
        with pytest.raises(OffsetOutOfRange) as refused:
            list(read_live(LiveSplit("t", 0, 0, 10), running.bootstrap_servers, QUICK))
        assert refused.value.args == ("t", 0, 0, 4, 10)
        [part] = read_live(LiveSplit("t", 0, 4, 10), running.bootstrap_servers, QUICK)
        assert part.log_start_offset == 4
        assert part.batches.base_offset.tolist() == [0]


def corrupt(batch: bytes, at: int) -> bytes:
    return batch[:at] + bytes([batch[at] ^ 1]) + batch[at + 1 :]


def test_batch_with_bad_checksum_is_a_problem(broker: ScriptedBroker) -> None:
    log = build([Step(-1), Step(-1, 2), Step(-1)])
    damaged = log._replace(batches=[log.batches[0], corrupt(log.batches[1], 70), log.batches[2]])
    serve(broker, damaged)
    parts = read(broker, 0, 4)
    assert entries(parts) == [log.batches[0], log.batches[2]]
    [problem] = parts[0].problems
    assert problem.path == f"t-0 of {broker.bootstrap_servers}"
    assert bytes(parts[0].buffer[problem.position : problem.position + problem.size]) == damaged.batches[1]
    assert problem.base_offset == 1
    assert "checksum" in problem.reason


def test_checksums_are_not_verified_if_disabled(broker: ScriptedBroker) -> None:
    log = build([Step(-1)])
    damaged = log._replace(batches=[corrupt(log.batches[0], 70)])
    serve(broker, damaged)
    parts = read(broker, 0, 1, {**QUICK, "check.crcs": "false"})
    assert entries(parts) == damaged.batches
    assert not parts[0].problems


def test_nothing_is_returned_after_invalid_size(broker: ScriptedBroker) -> None:
    log = build([Step(-1)] * 3)
    broken = log.batches[1][:8] + bytes(4) + log.batches[1][12:]
    broker.script(Api.FETCH, fetched(log.batches[0] + broken), fetched(broken + log.batches[2]))
    first, second = read(broker, 0, 3)
    assert entries([first, second]) == [log.batches[0]]
    assert not first.problems
    [problem] = second.problems
    assert problem.size == len(broken + log.batches[2])
    assert problem.base_offset == 1


def test_response_without_new_records_is_rejected(broker: ScriptedBroker) -> None:
    log = build([Step(-1)] * 2)
    broker.script(Api.FETCH, fetched(log.batches[0]), fetched(log.batches[0]))
    with pytest.raises(Unreadable, match="it has no record at or after offset 1"):
        read(broker, 0, 2)


def test_missing_topic_is_named(broker: ScriptedBroker) -> None:
    broker.script(Api.METADATA, *[broker.metadata(topic_error=Code.UNKNOWN_TOPIC_OR_PARTITION)] * 1000)
    with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION: topic t"):
        read(broker, 0, 1)


def test_missing_partition_is_named(broker: ScriptedBroker) -> None:
    with pytest.raises(PartitionRefused, match="UNKNOWN_TOPIC_OR_PARTITION: Metadata of t-9"):
        list(read_live(LiveSplit("t", 9, 0, 1), broker.bootstrap_servers, QUICK))


# Changes of leader


def test_reader_survives_leader_changes() -> None:
    with kafkalet.Cluster(brokers=3) as cluster:
        cluster.topic("t").create(1, replication_factor=3)
        for number in range(60):
            cluster.topic("t").append(build_batch(numbered([(T0, None, b"%d" % number, ())] * 3)))
        seen = []
        result = {"max.partition.fetch.bytes": "1", "retry.backoff.ms": "1"}
        for part in read_live(LiveSplit("t", 0, 1, 179), cluster.bootstrap_servers, result):
            seen += part.batches.base_offset.tolist()
            leader = cluster._server.metadata.topics["t"].partitions[0].leader
            other = next(node_id for node_id in cluster._server.nodes if node_id != leader)
            if len(seen) % 20 == 5:
                cluster.topic("t").move_leader(other)
            elif len(seen) % 20 == 15:
                cluster.broker(leader).stop()
                cluster.broker(leader).start()
        assert seen == list(range(0, 180, 3))
