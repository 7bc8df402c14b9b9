"""`kafkalet.broker.apis.txn_offset_commit`: offsets take effect with the transaction; who may commit them."""

from typing import Any

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from tests.unit.broker.groups.acting import Acting
from tests.unit.broker.groups.committing import Committing, committing

Said = dict[str, Any]

Producer = tuple[int, int]


def initialized(client: Committing, transactional_id: str = "x") -> Producer:
    """Return a producer without an open transaction."""
    node = client.stage.coordinator(transactional_id, 1)
    given = client.stage.ask(
        Api.INIT_PRODUCER_ID, 3, node, transactional_id=transactional_id, transaction_timeout_ms=60_000
    )
    return given["producer_id"], given["producer_epoch"]


@pytest.mark.parametrize("version", range(5))
def test_offsets_take_effect_when_the_transaction_is_committed(version: int) -> None:
    with committing() as client:
        producer = client.begin_transaction()
        assert client.commit_in(producer, {0: 5, 9: 6}, version=version) == {("t", 9): 3, ("t", 0): 0}
        assert client.fetch(0) == [-1]
        client.end_transaction(producer, committed=True)
        assert client.fetch(0) == [5]


def test_group_is_added_to_the_transaction_implicitly_since_v5() -> None:
    with committing() as client:
        producer = initialized(client)
        assert client.commit_in(producer, {0: 5}, version=5) == {("t", 0): 0}
        assert client.commit_in(producer, {1: 6}, version=5) == {("t", 1): 0}
        assert client.fetch(0, require_stable=True) == [-Code.UNSTABLE_OFFSET_COMMIT]
        client.end_transaction(producer, committed=True)
        assert client.fetch(0, 1) == [5, 6]


def test_commit_by_topic_id() -> None:
    with committing() as client:
        producer = client.begin_transaction()
        topic_id = client.stage.cluster._server.metadata.topics["t"].topic_id
        partition = {"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}
        fields = {
            "transactional_id": "x",
            "group_id": "g",
            "producer_id": producer[0],
            "producer_epoch": producer[1],
            "topics": [{"topic_id": each, "partitions": [partition]} for each in (topic_id, b"?" * 16)],
        }
        answer = client.stage.ask(Api.TXN_OFFSET_COMMIT, 6, client.node, **fields)
        found = {topic["topic_id"]: topic["partitions"][0]["error_code"] for topic in answer["topics"]}
        assert found == {topic_id: 0, b"?" * 16: Code.UNKNOWN_TOPIC_ID}
        client.end_transaction(producer, committed=True)
        assert client.fetch(0) == [5]


@pytest.mark.parametrize(
    ("version", "code"), [(3, Code.INVALID_TXN_STATE), (4, Code.TRANSACTION_ABORTABLE), (5, Code.NONE)]
)
def test_group_outside_the_transaction_is_refused(version: int, code: int) -> None:
    with committing() as client:
        assert client.commit_in(initialized(client), {0: 5}, version=version) == {("t", 0): code}


@pytest.mark.parametrize(("kafka_version", "code"), [("3.6", Code.NONE), ("3.7", Code.INVALID_TXN_STATE)])
def test_transaction_is_not_verified_before_3_7(kafka_version: str, code: int) -> None:
    with committing(version=kafka_version) as client:
        assert client.commit_in(initialized(client), {0: 5}) == {("t", 0): code}


def test_transaction_is_not_verified_if_verification_is_disabled() -> None:
    with committing(config={"transaction.partition.verification.enable": "false"}) as client:
        assert client.commit_in(initialized(client), {0: 5}) == {("t", 0): 0}


def test_other_producers_are_refused() -> None:
    with committing() as client:
        producer_id, epoch = initialized(client)

        def commit(producer: Producer, transactional_id: str = "x") -> int:
            return client.commit_in(producer, {0: 5}, transactional_id)["t", 0]

        assert commit((producer_id, epoch), "unknown") == Code.INVALID_PRODUCER_ID_MAPPING
        assert commit((producer_id + 1, epoch)) == Code.INVALID_PRODUCER_ID_MAPPING
        assert commit((producer_id, epoch + 1)) == Code.INVALID_PRODUCER_EPOCH
        assert commit((producer_id, epoch), "") == Code.INVALID_REQUEST
        assert Committing(client.stage, "").commit_in((producer_id, epoch), {0: 5}) == {("t", 0): 24}


def test_member_is_checked() -> None:
    with committing() as client:
        members = Acting(client.stage)
        generation, [member_id] = members.stable()
        producer = client.begin_transaction()

        def commit(epoch: int, member_id: str) -> int:
            return client.commit_in(producer, {0: 5}, generation_id_or_member_epoch=epoch, member_id=member_id)["t", 0]

        assert commit(generation, member_id) == Code.NONE
        assert commit(generation + 1, member_id) == Code.ILLEGAL_GENERATION
        assert commit(generation, "another") == Code.UNKNOWN_MEMBER_ID
        assert commit(-1, "") == Code.NONE


@pytest.mark.parametrize(
    ("kafka_version", "version", "code"),
    [
        ("newest", 5, Code.ILLEGAL_GENERATION),
        ("3.9", 3, Code.UNKNOWN_MEMBER_ID),
    ],
)
def test_commit_with_generation_for_an_unknown_group_is_refused(kafka_version: str, version: int, code: int) -> None:
    with committing(version=kafka_version) as client:
        said: Said = {"generation_id_or_member_epoch": 3, "member_id": "m"}
        assert client.commit_in(client.begin_transaction(), {0: 5}, version=version, **said) == {("t", 0): code}


def test_missing_group_is_created() -> None:
    with committing() as client:
        client.commit_in(client.begin_transaction(), {0: 5})
        assert client.stage.cluster.group("g").state == "Empty"


def test_negative_producer_epoch_is_refused() -> None:
    with committing(version="3.5") as client:
        producer_id, _ = client.begin_transaction()
        assert client.commit_in((producer_id, -1), {0: 5}) == {("t", 0): Code.UNKNOWN_SERVER_ERROR}


@pytest.mark.parametrize(("kafka_version", "stays"), [("newest", True), ("3.9", False)])
def test_failed_commit_drops_earlier_ones_before_4_0(
    kafka_version: str, stays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with committing(version=kafka_version) as client:
        producer = client.begin_transaction()
        client.commit_in(producer, {0: 5, 1: 6})
        with monkeypatch.context() as patched:
            patched.setattr(client.shard.log, "append_encoded", refuse)
            assert client.commit_in(producer, {0: 7})["t", 0] == Code.COORDINATOR_NOT_AVAILABLE
        client.end_transaction(producer, committed=True)
        assert client.fetch(0, 1) == [5 if stays else -1, 6]


def refuse(*_: object, **__: object) -> int:
    raise KafkaError(Code.NOT_ENOUGH_REPLICAS)


def test_request_with_only_unknown_partitions_does_not_contact_the_coordinator() -> None:
    with committing() as client:
        assert client.commit_in((7, 0), {9: 5}, "unknown") == {("t", 9): 3}
