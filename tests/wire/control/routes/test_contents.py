"""Tests of reset, snapshot and restore over HTTP."""

import io
import random
import tarfile

import pytest
from kafka import KafkaConsumer

from kafkalet.control.route import BYTES
from tests.wire.control.asking import Asking, asking


def test_reset_removes_everything_but_the_port(api: Asking) -> None:
    api.post("/v1/topics/t/records", {"value": "x"})
    api.post("/v1/faults", {"api": "Fetch", "delay": 1})
    address = api.get("/v1/cluster")["bootstrap_servers"]
    assert api.ask("POST", "/v1/reset").status == 204
    assert (api.get("/v1/topics")["topics"], api.get("/v1/faults")["faults"]) == ([], [])
    assert api.get("/v1/cluster")["bootstrap_servers"] == address


def test_snapshot_is_restored_in_another_cluster(api: Asking) -> None:
    api.post("/v1/topics/t/records", {"value": "x"})
    snapshot = api.ask("GET", "/v1/snapshot")
    assert (snapshot.status, snapshot.headers["Content-Type"]) == (200, BYTES)
    with tarfile.open(fileobj=io.BytesIO(snapshot.body)) as archive:
        assert archive.getnames()
    with asking() as other:
        assert other.ask("POST", "/v1/restore", data=snapshot.body, headers={"Content-Type": BYTES}).status == 204
        consumer = KafkaConsumer(
            "t",
            bootstrap_servers=other.cluster.bootstrap_servers,
            auto_offset_reset="earliest",
            consumer_timeout_ms=9000,
        )
        assert next(consumer).value == b"x"
        consumer.close()


@pytest.mark.parametrize("data", [b"", b"nonsense", b"\x1f\x8b\x08\x00broken"])
def test_file_that_is_not_a_snapshot_is_refused(api: Asking, data: bytes) -> None:
    answer = api.ask("POST", "/v1/restore", data=data, headers={"Content-Type": BYTES})
    assert (answer.status, answer.message.startswith("the body is not a snapshot")) == (422, True)


def test_snapshot_that_was_cut_off_changes_nothing(api: Asking) -> None:
    api.post("/v1/topics/t/records", {"value": "x"})
    snapshot = api.ask("GET", "/v1/snapshot").body
    with tarfile.open(fileobj=io.BytesIO(snapshot)) as archive:
        [end] = [entry.offset for entry in archive if entry.name.endswith("t-0/00000000000000000000.log")]
    answer = api.ask("POST", "/v1/restore", data=snapshot[:end], headers={"Content-Type": BYTES})
    assert (answer.status, "it is incomplete or damaged" in answer.message) == (422, True)
    assert len(api.get("/v1/topics/t/records")["records"]) == 1


def test_archive_with_a_link_is_refused(api: Asking) -> None:
    stored = io.BytesIO()
    with tarfile.open(fileobj=stored, mode="w") as archive:
        link = tarfile.TarInfo("kafkalet.json")
        link.type, link.linkname = tarfile.LNKTYPE, "missing"
        archive.addfile(link)
    answer = api.ask("POST", "/v1/restore", data=stored.getvalue(), headers={"Content-Type": BYTES})
    assert (answer.status, answer.code) == (422, "invalid_argument")


def test_second_file_is_refused_while_the_first_is_uploaded(api: Asking) -> None:
    first = api.connect()
    first.putrequest("POST", "/v1/restore")
    for name, value in (("Content-Type", BYTES), ("Content-Length", "1"), ("Expect", "100-continue")):
        first.putheader(name, value)
    first.endheaders()
    first.sock.recv(100)  # "100 Continue"
    refused = api.ask("POST", "/v1/restore", data=b"x", headers={"Content-Type": BYTES})
    assert (refused.status, refused.code) == (409, "conflict")
    first.send(b"x")
    assert first.getresponse().status == 422
    assert api.ask("POST", "/v1/restore", data=b"x", headers={"Content-Type": BYTES}).status == 422
    first.close()


def test_snapshot_of_another_number_of_brokers_is_refused(api: Asking) -> None:
    with asking(brokers=2) as two:
        snapshot = two.ask("GET", "/v1/snapshot").body
    assert api.ask("POST", "/v1/restore", data=snapshot, headers={"Content-Type": BYTES}).status == 422


def test_snapshot_needs_its_content_type(api: Asking) -> None:
    assert api.ask("POST", "/v1/restore", data=b"x", headers={"Content-Type": "text/plain"}).status == 415


def test_damaged_snapshot_is_refused_or_restored(api: Asking) -> None:
    api.post("/v1/topics/t/records", {"value": "x"})
    snapshot = api.ask("GET", "/v1/snapshot").body
    for seed in range(150):
        damaged = bytearray(snapshot)
        draw = random.Random(seed)
        for _ in range(draw.choice((1, 5, 50))):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        data = bytes(damaged[: draw.choice((len(damaged), draw.randrange(len(damaged))))])
        answer = api.ask("POST", "/v1/restore", data=data, headers={"Content-Type": BYTES})
        assert answer.status in (204, 422), (seed, answer.json)
