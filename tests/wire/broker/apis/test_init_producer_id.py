"""InitProducerId: new ids for idempotent producers, and the next epoch for transactional producers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import kafkalet
from kafkalet.protocol.errors import Code
from tests.wire.broker.transactions.producing import producing
from tests.wire.brokers import Plain, Wire, batch, on_the_wire


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with on_the_wire(2) as opened:
        yield opened


def ask(wire: Wire, version: int = 4, node: int = 1, **more: object) -> Plain:
    return wire.ask("InitProducerId", version, {"transactional_id": None, "transaction_timeout_ms": 0, **more}, node)


@pytest.mark.parametrize("version", range(6))
def test_each_request_returns_a_new_id_with_epoch_0(wire: Wire, version: int) -> None:
    answers = [ask(wire, version) for _ in range(3)]
    assert {(answer["error_code"], answer["producer_epoch"]) for answer in answers} == {(Code.NONE, 0)}
    assert len({answer["producer_id"] for answer in answers}) == 3


def test_brokers_allocate_different_ids(wire: Wire) -> None:
    assert ask(wire, node=1)["producer_id"] != ask(wire, node=2)["producer_id"]


def test_current_id_without_transactional_id_is_ignored(wire: Wire) -> None:
    first = ask(wire)["producer_id"]
    answer = ask(wire, producer_id=first, producer_epoch=5)
    assert (answer["error_code"], answer["producer_epoch"]) == (Code.NONE, 0)
    assert answer["producer_id"] != first


@pytest.mark.parametrize(("producer_id", "epoch"), [(-1, 5), (5, -1)])
def test_id_without_epoch_and_epoch_without_id_are_invalid(wire: Wire, producer_id: int, epoch: int) -> None:
    answer = ask(wire, producer_id=producer_id, producer_epoch=epoch)
    assert (answer["error_code"], answer["producer_id"]) == (Code.INVALID_REQUEST, -1)


def test_empty_transactional_id_is_invalid(wire: Wire) -> None:
    answer = ask(wire, transactional_id="")
    assert (answer["error_code"], answer["producer_id"], answer["producer_epoch"]) == (Code.INVALID_REQUEST, -1, -1)


@pytest.mark.parametrize("version", range(6))
def test_transactional_id_keeps_its_producer_id(version: int) -> None:
    with producing() as tx:
        first = tx.producer_id
        assert tx.init(version=version) == Code.NONE
        assert (tx.producer_id, tx.epoch) == (first, 1)


def test_other_broker_returns_not_coordinator() -> None:
    with producing(2) as tx:
        tx.node = 3 - tx.node
        assert tx.init() == Code.NOT_COORDINATOR


def test_new_id_can_be_used_immediately(wire: Wire) -> None:
    number = ask(wire)["producer_id"]
    leader = wire.cluster._server.metadata.topics["t"].partitions[0].leader
    records = batch(b"a", producer_id=number, producer_epoch=0, base_sequence=0)
    assert wire.produce(records, node=leader)["error_code"] == Code.NONE


def test_ids_are_not_reused_after_a_restart(tmp_path: Path) -> None:
    given: list[int] = []
    for _ in range(3):
        with kafkalet.Broker(data_dir=tmp_path) as broker:
            wire = Wire(broker)
            given += [ask(wire)["producer_id"] for _ in range(2)]
            wire.close()
    assert sorted(set(given)) == given
