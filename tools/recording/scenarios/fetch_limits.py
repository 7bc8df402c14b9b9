"""Fetch: limits on size and wait time."""

from kafkalet_conformance.building import ScenarioBuilder, Step, at, batch, filled
from tools.recording.definitions import Scenarios

scenario = Scenarios("fetch_limits")

BIG = 10_000_000


def big(topic: str, offset: int = 0, partition: int = 0) -> dict[str, object]:
    return at(topic, offset, partition, BIG)


@scenario("KIP-74 ReplicaManager.readFromLog", level="must")
def fetch_max_bytes(ask: ScenarioBuilder) -> None:
    """The limit max_bytes counts over all partitions in the order of the request, and the first partition with records
    is never returned empty.
    """
    t = ask.topic(partitions=3)
    for partition in range(3):
        ask.produce_each(t, [filled(n, 22) for n in range(2)], partition=partition)
    everything = (at(t), at(t, 0, 1), at(t, 0, 2))
    for version in (3, 11):
        if version in ask.versions("Fetch"):
            for limit in (0, 1, 89, 90, 91, 180, 181, 270, 359, 540):
                ask.fetch(f"v{version} max_bytes {limit}", *everything, version=version, max_bytes=limit)
    ask.fetch("the first is at its end", at(t, 2), at(t, 0, 1), at(t, 0, 2), max_bytes=1)
    ask.fetch("the first is unknown", at(t, 0, 9), at(t, 0, 1), at(t, 0, 2), max_bytes=1)
    ask.fetch("the first is out of range", at(t, 9), at(t, 0, 1), at(t, 0, 2), max_bytes=1)
    ask.fetch("the first wants none", at(t, 0, 0, 0), at(t, 0, 1), max_bytes=1)
    ask.fetch("negative", *everything, max_bytes=-1)


@scenario("KIP-74 ReplicaManager.readFromLog", level="must")
def fetch_both_limits(ask: ScenarioBuilder) -> None:
    """Fetch applies the smaller of partition_max_bytes and the rest of max_bytes to each partition, and returns
    UNKNOWN_SERVER_ERROR for negative limits."""
    t = ask.topic(partitions=2)
    for partition in range(2):
        ask.produce_each(t, [filled(n, 22) for n in range(3)], partition=partition)
    for limit in (0, 1, 40, 89, 90, 91, 179, 180, 271, -1):
        ask.fetch(f"partition_max_bytes {limit}", at(t, 0, 0, limit), at(t, 0, 1, limit))
    for limit, whole in ((40, 100), (100, 40), (181, 181), (200, 240), (90, 180), (0, 0)):
        ask.fetch(f"{limit} of {whole}", at(t, 0, 0, limit), at(t, 0, 1, limit), max_bytes=whole)
    for offset in (1, 2, 3):
        ask.fetch(f"offset {offset}, 1 byte", at(t, offset, 0, 1), at(t, offset, 1, 1))


@scenario("KIP-74 KIP-98 ReplicaManager.readFromLog")
def fetch_committed_limits(ask: ScenarioBuilder) -> None:
    """The limits of Fetch have the same effect with read_committed: a partition without room for a batch is returned
    without records.
    """
    t = ask.topic(partitions=2)
    for partition in range(2):
        ask.produce_each(t, [filled(n, 22) for n in range(3)], partition=partition)
    for version in (4, 11, 12):
        for limit in (0, 1, 89, 90, 91, 200):
            more: Step = {"version": version, "isolation_level": 1}
            ask.fetch(f"v{version} {limit} each", at(t, 0, 0, limit), at(t, 0, 1, limit), **more)
            ask.fetch(f"v{version} {limit} in all", at(t, 2), at(t, 1, 1), max_bytes=limit, **more)
    ask.fetch("at the end, limit 0", at(t, 0), at(t, 3, 1, 0), max_bytes=1, isolation_level=1)


@scenario("KIP-74 ReplicaManager.readFromLog", area="old_formats", Fetch=0)
def fetch_hard_limits(ask: ScenarioBuilder) -> None:
    """In Fetch v0 to v2, partition_max_bytes is a hard limit: a larger first batch is not returned whole, but v3
    returns it whole.
    """
    t = ask.topic(partitions=2)
    for partition in range(2):
        ask.produce_each(t, [filled(n, 22) for n in range(2)], partition=partition)
    for version in (0, 2, 3):
        for limit in (0, 1, 40, 46, 54, 60, 100, 120, 180, -1):
            ask.fetch(f"v{version} {limit}", at(t, 0, 0, limit), at(t, 0, 1, limit), version=version)


@scenario("KIP-74 LogSegment.read", level="must")
def fetch_big_batch(ask: ScenarioBuilder) -> None:
    """Fetch returns a batch that exceeds every limit if it comes first, so that a consumer always makes progress."""
    t = ask.topic(partitions=2)
    ask.produce_each(t, [filled(0, 100), filled(1, 50_000), filled(2, 100)])
    ask.produce(t, filled(0, 100), partition=1)
    for offset in range(3):
        for limit in (1, 300, 50_072, 50_500):
            ask.fetch(f"offset {offset}, {limit} bytes", at(t, offset, 0, limit), at(t, 0, 1))
            ask.fetch(f"offset {offset}, {limit} in all", at(t, offset), at(t, 0, 1), max_bytes=limit)


@scenario("ReplicaManager.fetchMessages DelayedFetch.tryComplete")
def fetch_min_bytes(ask: ScenarioBuilder) -> None:
    """Fetch waits until the partitions together have min_bytes, where each partition counts at most its
    partition_max_bytes."""
    t = ask.topic(partitions=2)
    for partition in range(2):
        ask.produce(t, filled(0, 22), partition=partition)
    both = (at(t), at(t, 0, 1))
    for name, wanted, least in (
        ("one of two is enough", both, 90),
        ("both are enough", both, 180),
        ("both are not enough", both, 181),
        ("one at its end", (at(t, 1), at(t, 0, 1)), 91),
        ("limits below the batches, together enough", (at(t, 0, 0, 70), at(t, 0, 1, 70)), 140),
        ("limits below the batches, too little", (at(t, 0, 0, 40), at(t, 0, 1, 40)), 100),
    ):
        ask.fetch(name, *wanted, max_wait_ms=900, min_bytes=least, timing=True)
    ask.fetch("max_bytes below min_bytes", *both, max_wait_ms=900, min_bytes=5000, max_bytes=70, timing=True)
    ask.fetch("negative min_bytes", at(t, 1), max_wait_ms=900, min_bytes=-1, timing=True)
    ask.fetch("negative max_wait", at(t, 1), max_wait_ms=-1, min_bytes=1)


@scenario("DelayedFetch.tryComplete", level="detail")
def fetch_waits_not_in_old_segments(ask: ScenarioBuilder) -> None:
    """Fetch from a segment before the last one returns immediately, whatever min_bytes is."""
    t = ask.topic(segment_bytes=1048576)
    ask.produce_each(t, [filled(n, 600_000) for n in range(3)])
    for offset in (0, 1, 2, 3):
        ask.fetch(f"offset {offset}", big(t, offset), max_wait_ms=900, min_bytes=5_000_000, timing=True)


def waiting(ask: ScenarioBuilder, name: str, *wanted: dict[str, object], version: int = 11, **body: object) -> None:
    content = ask.fetching(*wanted, **{"max_wait_ms": 8000, "min_bytes": 1} | body)
    ask.step("send", id=name, api="Fetch", version=version, body=content, conn=name)


def still(ask: ScenarioBuilder, name: str, case: str, wait_ms: int = 300) -> None:
    ask.step("is_pending", case=case, id=name, conn=name, wait_ms=wait_ms)


def woken(ask: ScenarioBuilder, name: str, case: str) -> None:
    ask.step("receive", case=case, id=name, conn=name, timing_max_wait_ms=8000)


@scenario("DelayedFetch.tryComplete ReplicaManager.tryCompleteActions", level="must")
def fetch_wakes(ask: ScenarioBuilder) -> None:
    """A produced record wakes the fetches that wait for its partition, and no others."""
    t, u = ask.topic(partitions=2), ask.topic("u")
    waiting(ask, "a", at(t), at(t, 0, 1))
    waiting(ask, "b", at(t, 0, 1))
    waiting(ask, "c", at(u))
    ask.produce(t, batch(10), partition=0)
    woken(ask, "a", "either partition wakes")
    still(ask, "b", "another partition")
    still(ask, "c", "another topic")
    ask.produce(t, batch(20), partition=1)
    woken(ask, "b", "its partition")
    ask.produce(u, batch(30))
    woken(ask, "c", "its topic")


@scenario("DelayedFetch.tryComplete")
def fetch_wakes_when_enough(ask: ScenarioBuilder) -> None:
    """A waiting fetch returns as soon as its partitions together have min_bytes from the fetch offsets on."""
    t = ask.topic(partitions=2)
    ask.produce(t, filled(0, 22))
    waiting(ask, "a", at(t), at(t, 0, 1), min_bytes=200)
    still(ask, "a", "90 of 200")
    ask.produce(t, filled(1, 22), partition=1)
    still(ask, "a", "180 of 200")
    ask.produce(t, filled(2, 22), partition=1)
    woken(ask, "a", "270 of 200")
    waiting(ask, "b", at(t, 1), min_bytes=150)
    ask.produce(t, filled(3, 22))
    still(ask, "b", "90 of 150")
    ask.produce(t, filled(4, 22))
    woken(ask, "b", "180 of 150")


@scenario("DelayedFetch.tryComplete ReplicaManager.deleteRecordsOnLocalLog")
def fetch_wakes_for_errors(ask: ScenarioBuilder) -> None:
    """The deletion of a topic ends the wait of its fetches with UNKNOWN_TOPIC_OR_PARTITION, and a log start offset that
    moves up to the fetch offset does not."""
    t, u = ask.topic(), ask.topic("u")
    ask.produce(t, batch(10, 20))
    waiting(ask, "a", at(u), max_wait_ms=5000)
    still(ask, "a", "nothing yet")
    ask.setup("DeleteTopics", 5, {"topic_names": [u], "timeout_ms": 10000})
    ask.step("receive", case="deleted", id="a", conn="a", timing_max_wait_ms=5000)
    waiting(ask, "b", at(t, 2), max_wait_ms=1500)
    still(ask, "b", "nothing new")
    ask.delete_records(t, 2)
    ask.step("receive", case="the log start reaches the fetch offset", id="b", conn="b", timing_max_wait_ms=1500)


@scenario("DelayedFetch.tryComplete", area="old_formats", Fetch=0)
def fetch_old_versions_wait(ask: ScenarioBuilder) -> None:
    """Fetch v0 to v3 waits for min_bytes and max_wait_ms as later versions do."""
    t = ask.topic()
    ask.produce(t, filled(0, 22))
    for version in (0, 2, 3):
        body: Step = {"max_wait_ms": 700, "version": version, "timing": True}
        ask.fetch(f"v{version} at the end", at(t, 1), min_bytes=1, **body)
        ask.fetch(f"v{version} enough", at(t), min_bytes=60, **body)
        ask.fetch(f"v{version} too little", at(t), min_bytes=2000, **body)
        ask.fetch(f"v{version} limit below min_bytes", at(t, 0, 0, 30), min_bytes=60, **body)


@scenario("SocketServer.processCompletedReceives", level="must")
def fetch_in_order(ask: ScenarioBuilder) -> None:
    """A broker responds to the requests of one connection in order, so that a waiting fetch delays the responses after
    it.
    """
    t = ask.topic()
    waiting(ask, "a", at(t), max_wait_ms=1000)
    body = {"replica_id": -1, "topics": [{"name": t, "partitions": [{"partition_index": 0, "timestamp": -1}]}]}
    ask.step("send", id="b", api="ListOffsets", version=5, body=body, conn="a")
    ask.step("is_pending", case="the second waits for the first", id="b", conn="a", wait_ms=300)
    ask.step("receive", case="the second", id="b", conn="a", timing_max_wait_ms=1000)
    ask.step("receive", case="the first", id="a", conn="a")
