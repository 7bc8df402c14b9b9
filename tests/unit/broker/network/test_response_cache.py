"""Tests of the responses that the router sends again: they are those that the handler would build now."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kafkalet
from kafkalet.broker.apis import api_versions, metadata
from kafkalet.broker.cluster.revision import Revision
from kafkalet.broker.network import response_cache
from kafkalet.broker.network.response_cache import ResponseCache
from kafkalet.broker.network.router import Router
from kafkalet.protocol.api import Api
from kafkalet.protocol.client import decode_response
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.frame import request_frame
from kafkalet.protocol.messages.api_versions import ApiVersionsRequest
from kafkalet.protocol.messages.metadata import MetadataRequest
from kafkalet.protocol.schema import Request
from kafkalet.storage.failures import StorageFailed
from tests.profile import examples
from tests.unit.broker.apis.asking import Asking, NoClient

LISTENERS = {
    "listeners": "PLAINTEXT://127.0.0.1:0,OTHER://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT",
}


def named(*names: str, creates: bool = False) -> MetadataRequest:
    topics = [MetadataRequest.Topic(name=name) for name in names]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=creates)


CLIENT = ApiVersionsRequest(client_software_name="me", client_software_version="1.0")
ALL_OPERATIONS = MetadataRequest(
    topics=None, include_cluster_authorized_operations=True, include_topic_authorized_operations=True
)
QUESTIONS: list[tuple[Request, int]] = [
    *((CLIENT, version) for version in (0, 2, 3, 4)),
    (ApiVersionsRequest(client_software_name="-", client_software_version="1.0"), 3),
    *((MetadataRequest(topics=None), version) for version in (1, 5, 9, 12)),
    (MetadataRequest(topics=[]), 0),
    (ALL_OPERATIONS, 8),
    *((named("a"), version) for version in (4, 7, 12)),
    (named("b", "a"), 9),
    (named("c", "missing"), 9),
]


class Kept:
    """A cluster, and the responses of its brokers."""

    def __init__(self, cluster: kafkalet.Cluster) -> None:
        self.cluster = cluster
        self.ask = Asking(cluster)

    def route(self, request: Request, version: int, node: int = 1) -> bytes:
        """Return the response of a broker."""
        router = self.cluster._server.brokers[node].router
        return self.cluster._server.call(lambda: routed(router, encoded(request, version)))

    def answer_to(self, request: Request, version: int) -> Any:
        sent = self.route(request, version)[4:]
        return decode_response(request.API, version, sent).response

    def check(self) -> None:
        """Compare the responses of each broker with those of a router that has not kept any."""
        self.cluster._server.call(self._check)

    def _check(self) -> None:
        for broker in self.cluster._server.brokers.values():
            fresh = Router(broker)
            for frame in FRAMES:
                for listener in ("OTHER", "UNKNOWN"):
                    answer = routed(broker.router, frame, listener)
                    assert answer == routed(fresh, frame, listener), (frame, listener)


def encoded(request: Request, version: int, correlation_id: int = 7) -> bytes:
    """Return the frame of a request without its size."""
    return b"".join(request_frame(request, version, correlation_id, "me"))[4:]  # type: ignore[arg-type]


def routed(router: Router, frame: bytes, listener: str = "PLAINTEXT") -> bytes:
    """Return the response of a router, in the thread of its broker."""
    turns = router.broker.node.turns
    turns.deadline_s = turns.now_s() + 60  # so that no handler yields
    out: list[Any] = []
    size = router.route(frame, router.context(NoClient(), ("127.0.0.1", 1), listener), out)
    turns.deadline_s = 0.0
    sent = b"".join(out)
    assert len(sent) == size
    return sent


FRAMES = [encoded(request, version) for request, version in QUESTIONS]


@pytest.fixture(scope="module")
def three_brokers() -> Iterator[Kept]:
    with kafkalet.Cluster(brokers=3, config=LISTENERS) as cluster:
        logging.disable(logging.ERROR)  # brokers without leaders and disks that fail are reported
        yield Kept(cluster)
        logging.disable(logging.NOTSET)


@pytest.fixture
def kept() -> Iterator[Kept]:
    with kafkalet.Cluster() as cluster:
        yield Kept(cluster)


# Random changes

NAMES = st.sampled_from(["a", "b", "c"])
NODES = st.integers(1, 3)
REPLICAS = st.lists(NODES, min_size=1, max_size=3, unique=True)
STEPS = {
    "create": st.tuples(NAMES, st.integers(1, 2), st.integers(1, 3)),
    "delete": st.tuples(NAMES),
    "add_partition": st.tuples(NAMES),
    "stop": st.tuples(NODES),
    "start": st.tuples(NODES),
    "elect": st.tuples(NAMES, NODES),
    "new_epoch": st.tuples(NAMES),
    "reassign": st.tuples(NAMES, st.none() | REPLICAS),
    "hold": st.tuples(NODES),
    "release": st.tuples(NODES),
    "send": st.tuples(NAMES),
    "drop_laggards": st.tuples(),
    "shrink": st.tuples(NAMES, NODES),
    "expand": st.tuples(NAMES),
    "take_offline": st.tuples(NAMES, st.none() | NODES),
    "bring_online": st.tuples(NAMES),
    "fail_directory": st.tuples(NODES),
    "restore_directory": st.tuples(NODES),
    "alter_config": st.tuples(NAMES, st.integers(1, 9)),
    "change_feature": st.tuples(st.integers(0, 1)),
    "create_by_metadata": st.tuples(NAMES),
    "use_groups": st.tuples(),
}


class Changes:
    """The steps by name."""

    def __init__(self, kept: Kept) -> None:
        self.cluster = kept.cluster
        self.server = kept.cluster._server
        self.ask = kept.ask
        self.kept = kept

    @property
    def node(self) -> int:
        return min(self.server.nodes)

    def create(self, name: str, partitions: int, replicas: int) -> None:
        self.cluster.topic(name).create(partitions, replication_factor=replicas)

    def delete(self, name: str) -> None:
        self.cluster.topic(name).delete()

    def add_partition(self, name: str) -> None:
        count = len(self.server.metadata.topics[name].partitions)
        topics = [{"name": name, "count": count + 1, "assignments": None}]
        self.ask(Api.CREATE_PARTITIONS, 3, self.node, topics=topics, timeout_ms=1000, validate_only=False)

    def stop(self, node: int) -> None:
        if len(self.server.nodes) > 1:
            self.cluster.broker(node).stop()

    def start(self, node: int) -> None:
        self.cluster.broker(node).start()

    def elect(self, name: str, node: int) -> None:
        self.cluster.topic(name).move_leader(node)

    def new_epoch(self, name: str) -> None:
        self.cluster.topic(name).new_leader_epoch()

    def reassign(self, name: str, replicas: list[int] | None) -> None:
        topics = [{"name": name, "partitions": [{"partition_index": 0, "replicas": replicas}]}]
        self.ask(Api.ALTER_PARTITION_REASSIGNMENTS, 0, self.node, topics=topics)

    def hold(self, node: int) -> None:
        self.cluster.hold_replication(node)

    def release(self, node: int) -> None:
        self.server.call(lambda: self.server.release_replication(node, None, None))

    def send(self, name: str) -> None:
        if name in self.server.metadata.topics:
            self.cluster.topic(name).send("x", partition=0)

    def drop_laggards(self) -> None:
        self.server.call(lambda: self.server.leadership.drop_laggards(-1))

    def shrink(self, name: str, node: int) -> None:
        self.cluster.topic(name).shrink_isr(node)

    def expand(self, name: str) -> None:
        self.cluster.topic(name)._change(0, lambda: self.cluster.topic(name)._expand_isr(0))

    def take_offline(self, name: str, node: int | None) -> None:
        self.cluster.topic(name).take_offline(broker=node)

    def bring_online(self, name: str) -> None:
        self.cluster.topic(name)._change(0, lambda: self.cluster.topic(name)._bring_online(0, None))

    def fail_directory(self, node: int) -> None:
        if sum(not broker.node.directories.have_all_failed for broker in self.server.brokers.values()) > 1:
            self.cluster.fail_log_dir(broker=node)

    def restore_directory(self, node: int) -> None:
        self.server.call(lambda: self.server.restore_log_directory(node, 0))

    def alter_config(self, name: str, value: int) -> None:
        configs = [{"name": "retention.ms", "value": str(value)}]
        resources = [{"resource_type": 2, "resource_name": name, "configs": configs}]
        self.ask(Api.ALTER_CONFIGS, 1, self.node, resources=resources, validate_only=False)

    def change_feature(self, level: int) -> None:
        update = {
            "feature": "eligible.leader.replicas.version",
            "max_version_level": level,
            "upgrade_type": 1 if level else 2,
        }
        self.ask(Api.UPDATE_FEATURES, 1, self.node, feature_updates=[update])

    def create_by_metadata(self, name: str) -> None:
        self.kept.route(named(name, creates=True), 9, self.node)

    def use_groups(self) -> None:
        self.ask(Api.FIND_COORDINATOR, 2, self.node, key="g", key_type=0)


STEP = st.one_of([st.tuples(st.just(name), arguments) for name, arguments in STEPS.items()])


@settings(max_examples=examples(0.25))
@given(st.lists(STEP, min_size=1, max_size=12))
def test_cached_response_equals_that_of_the_handler(three_brokers: Kept, steps: list[Any]) -> None:
    three_brokers.cluster.reset()
    three_brokers.cluster.topic("a").create(2, replication_factor=3)
    changes = Changes(three_brokers)
    three_brokers.check()
    for name, arguments in steps:
        step: Callable[..., None] = getattr(changes, name)
        with contextlib.suppress(KafkaError, StorageFailed, ValueError, KeyError, OSError):  # not possible now
            step(*arguments)
        three_brokers.check()


# What is kept


def count_calls(monkeypatch: pytest.MonkeyPatch, module: Any) -> list[Any]:
    """Record the requests that reach the handler of a module."""
    calls: list[Any] = []
    handle = module.handle

    def counted(request: Any, context: Any) -> Any:
        calls.append(request)
        return handle(request, context)

    monkeypatch.setattr(module, "handle", counted)
    return calls


@pytest.mark.parametrize(
    ("module", "request_"), [(api_versions, CLIENT), (metadata, MetadataRequest(topics=None)), (metadata, named("a"))]
)
def test_cached_response_does_not_call_the_handler(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, module: Any, request_: Request
) -> None:
    kept.cluster.topic("a").create()
    calls = count_calls(monkeypatch, module)
    first = kept.route(request_, 3)
    assert kept.route(request_, 3) == first
    assert len(calls) == 1


def test_cached_response_gets_the_correlation_id_of_the_request(kept: Kept) -> None:
    router = kept.cluster._server.brokers[1].router
    sent = kept.cluster._server.call(lambda: [routed(router, encoded(CLIENT, 3, number)) for number in (5, 6)])
    assert [int.from_bytes(each[4:8], "big") for each in sent] == [5, 6]
    assert sent[0][8:] == sent[1][8:]


def test_a_request_for_a_missing_topic_creates_it_again(kept: Kept) -> None:
    for _ in range(2):
        kept.route(named("new", creates=True), 9)
        assert "new" in kept.cluster._server.metadata.topics
        kept.cluster.topic("new").delete()


def test_a_refused_client_name_reaches_the_handler(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count_calls(monkeypatch, api_versions)
    refused = ApiVersionsRequest(client_software_name="-", client_software_version="1.0")
    for _ in range(2):
        assert kept.answer_to(refused, 3).error_code == 42
    assert len(calls) == 2


# The bounds


def test_change_drops_the_cached_responses() -> None:
    revision = Revision()
    kept = ResponseCache(revision)
    assert kept.get((1, "L", b"?")) is None
    kept.add((1, "L", b"?"), b"!")
    assert kept.get((1, "L", b"?")) == b"!"
    revision.advance()
    assert kept.get((1, "L", b"?")) is None


def test_response_built_during_a_change_is_not_cached() -> None:
    revision = Revision()
    kept = ResponseCache(revision)
    assert kept.get((1, "L", b"?")) is None
    revision.advance()
    kept.add((1, "L", b"?"), b"!")
    assert kept.get((1, "L", b"?")) is None


def test_cache_is_cleared_when_it_has_too_many_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_cache, "MOST_BYTES", 2500)
    kept = ResponseCache(Revision())
    for number in range(3):
        assert kept.get((number, "L", b"?")) is None
        kept.add((number, "L", b"?"), bytes(600))
    assert [kept.get((number, "L", b"?")) is None for number in range(3)] == [True, True, False]


def test_long_response_is_not_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_cache, "MOST_BYTES", 1000)
    kept = ResponseCache(Revision())
    assert kept.get((1, "L", b"?")) is None
    kept.add((1, "L", b"?"), bytes(1000))
    assert kept.get((1, "L", b"?")) is None


def test_long_request_is_handled_every_time(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count_calls(monkeypatch, metadata)
    names = [f"topic-{number:04}" for number in range(200)]
    for name in names:
        kept.cluster.topic(name).create()
    for _ in range(2):
        kept.route(named(*names), 9)
    assert len(calls) == 2
