"""Fetch sessions (KIP-227)."""

from typing import Any

from kafkalet_conformance.building import UNKNOWN_TOPIC_ID, ScenarioBuilder, Step, at, batch, filled, merged
from tools.recording.definitions import Scenarios

scenario = Scenarios("fetch_sessions")


def session(
    ask: ScenarioBuilder, case: str, *wanted: Step, s: str = "S", epoch: int = 0, version: int = 11, **more: Any
) -> None:
    """Send a Fetch request in a session; a full request (epoch 0) binds the session id to `s`."""
    bound = epoch != 0
    body = {"max_wait_ms": 0, "min_bytes": 0, "topics": merged(wanted), "session_id": f"${s}" if bound else 0} | more
    extra = {} if bound else {"bind": {s: "session_id"}}
    ask.request(case, "Fetch", version, body | {"session_epoch": epoch}, **extra)


@scenario("KIP-227 FetchManager.newContext", level="must")
def session_errors(ask: ScenarioBuilder) -> None:
    """Fetch returns INVALID_FETCH_SESSION_EPOCH for a wrong session epoch and FETCH_SESSION_ID_NOT_FOUND for an unknown
    id, and the session stays usable."""
    t = ask.topic()
    ask.produce(t, batch(10))
    for version in (7, 12, 17):
        p = at("$t.id" if version >= 13 else t)
        s = f"S{version}"
        session(ask, f"v{version} open", p, s=s, version=version)
        session(ask, f"v{version} epoch too high", s=s, epoch=2, version=version)
        session(ask, f"v{version} epoch 1 is still good", s=s, epoch=1, version=version)
        session(ask, f"v{version} epoch again", s=s, epoch=1, version=version)
        session(ask, f"v{version} unknown id", p, s=s, epoch=1, version=version, session_id=12345)
        session(ask, f"v{version} close an unknown one", s=s, epoch=-1, version=version, session_id=12345)
        session(ask, f"v{version} epoch -2", s=s, epoch=-2, version=version)
        session(ask, f"v{version} epoch 2", s=s, epoch=2, version=version)
        session(ask, f"v{version} id and epoch 0 starts anew", p, s=s, epoch=0, version=version)
        session(ask, f"v{version} close", s=s, epoch=-1, version=version)
        session(ask, f"v{version} close again", s=s, epoch=-1, version=version)
    ask.request("no session: id 0, epoch -1", "Fetch", 11, ask.fetching(at(t), session_id=0, session_epoch=-1))
    ask.request("id 0, epoch 5", "Fetch", 11, ask.fetching(at(t), session_id=0, session_epoch=5))
    ask.request("id -1, epoch 1", "Fetch", 11, ask.fetching(at(t), session_id=-1, session_epoch=1))


@scenario("KIP-227 FetchManager.newContext")
def session_replaced(ask: ScenarioBuilder) -> None:
    """A full Fetch request with the id of a session closes this session and opens another one, and a session that has
    no partitions is closed."""
    t = ask.topic()
    ask.produce(t, batch(10))
    session(ask, "open", at(t))
    body = ask.fetching(at(t), session_id="$S", session_epoch=0)
    ask.request("again with its id", "Fetch", 11, body, bind={"S2": "session_id"})
    session(ask, "the old one", epoch=1)
    session(ask, "the new one", s="S2", epoch=1)
    body = ask.fetching(at(t), session_id="$S2", session_epoch=-1)
    ask.request("close while fetching", "Fetch", 11, body)
    session(ask, "gone", s="S2", epoch=2)
    body = ask.fetching(session_id=0, session_epoch=0)
    ask.request("a session of nothing", "Fetch", 11, body, bind={"S4": "session_id"})
    session(ask, "which is there", s="S4", epoch=1)
    ask.request(
        "an unknown id with epoch 0",
        "Fetch",
        11,
        ask.fetching(at(t), session_id=7, session_epoch=0),
        bind={"S3": "session_id"},
    )
    session(ask, "which opened one", s="S3", epoch=1)


@scenario("KIP-227 IncrementalFetchContext.updateAndGenerateResponseData")
def session_rotation(ask: ScenarioBuilder) -> None:
    """Partitions that returned records move to the end of their session, so that a small max_bytes does not starve the
    others."""
    t = ask.topic(partitions=3)
    for partition in range(3):
        ask.produce_each(t, [filled(n, 22) for n in range(3)], partition=partition)
    session(ask, "open", at(t), at(t, 0, 1), at(t, 0, 2), max_bytes=100)
    for n in range(1, 5):
        session(ask, f"round {n}, nothing named", epoch=n, max_bytes=100)
    session(ask, "0 and 1 moved on", at(t, 1), at(t, 1, 1), epoch=5, max_bytes=100)
    session(ask, "then", epoch=6, max_bytes=100)
    session(ask, "more room", epoch=7, max_bytes=200)
    session(ask, "all", epoch=8)
    session(ask, "all again", epoch=9)


@scenario("KIP-227 FetchSession.update")
def session_order(ask: ScenarioBuilder) -> None:
    """An incremental fetch returns its partitions in the order of the session, not in the order of the request."""
    t, u = ask.topic(partitions=3), ask.topic("u")
    session(ask, "open, empty", at(t, 0, 2), at(t), at(u), at(t, 0, 1))
    for topic, partition in ((t, 0), (t, 1), (t, 2), (u, 0)):
        ask.produce(topic, batch(partition), partition=partition)
    session(ask, "all have something", epoch=1)
    session(ask, "asked in another order", at(t, 0, 1), at(u), at(t), at(t, 0, 2), epoch=2)
    session(ask, "2 moved on", at(t, 1, 2), epoch=3)
    ask.produce(t, batch(9), partition=2)
    session(ask, "2 has something again", epoch=4)
    session(ask, "the same", epoch=5)


@scenario("KIP-227 FetchSession.update", level="must")
def session_forget(ask: ScenarioBuilder) -> None:
    """Forgotten partitions leave the session, forgetting an unknown partition changes nothing, and a session whose
    partitions were all forgotten is closed."""
    t, nope = ask.topic(partitions=3), ask.unknown_topic()
    for partition in range(3):
        ask.produce(t, batch(10), partition=partition)

    def gone(*partitions: int, topic: str = t) -> list[Step]:
        return [{"topic": topic, "partitions": list(partitions)}]

    session(ask, "open", at(t), at(t, 0, 1), at(t, 0, 2))
    session(ask, "forget 1", epoch=1, forgotten_topics_data=gone(1))
    session(ask, "forget what is not there", epoch=2, forgotten_topics_data=gone(1, 7))
    session(ask, "forget an unknown topic", epoch=3, forgotten_topics_data=gone(0, topic=nope))
    session(ask, "forget 0 and name 0", at(t), epoch=4, forgotten_topics_data=gone(0))
    session(ask, "after that", epoch=5)
    session(ask, "forget all", epoch=6, forgotten_topics_data=gone(0, 1, 2))
    session(ask, "the emptied session", epoch=7)
    session(ask, "open with something forgotten", at(t), forgotten_topics_data=gone(1))
    session(ask, "close with something forgotten", epoch=-1, forgotten_topics_data=gone(0))


@scenario("KIP-227 CachedPartition.maybeUpdateResponseData", level="must")
def session_reasons(ask: ScenarioBuilder) -> None:
    """A session returns a partition if it has unread records or a changed high watermark or log start offset, in every
    response while it has an error, and once after the error.
    """
    t, nope = ask.topic(partitions=2), ask.unknown_topic()
    ask.produce(t, batch(10, 20))
    session(ask, "open", at(t, 2), at(t, 0, 1), at(nope), at(t, 0, 9))
    session(ask, "errors again", epoch=1)
    session(ask, "1 out of range", at(t, 5, 1), epoch=2)
    session(ask, "still", epoch=3)
    session(ask, "1 good again", at(t, 0, 1), epoch=4)
    session(ask, "same offset named again", at(t, 0, 1), epoch=5)
    session(ask, "other limit, no bytes", at(t, 0, 0, 0), epoch=6)
    session(ask, "nothing named", epoch=7)
    ask.delete_records(t, 1)
    session(ask, "log start of 0", epoch=8)
    session(ask, "once", epoch=9)
    session(ask, "fenced", at(t, 2, current_leader_epoch=5), epoch=10)
    session(ask, "fenced still", epoch=11)
    session(ask, "epoch right", at(t, 2, current_leader_epoch=0), epoch=12)
    session(ask, "quiet but for the unknown", epoch=13)


@scenario("KIP-227 DelayedFetch.tryComplete")
def session_waits(ask: ScenarioBuilder) -> None:
    """An incremental fetch waits if the session has nothing to report, and returns records and errors immediately."""
    t = ask.topic(partitions=2)

    def timed(case: str, *wanted: Step, epoch: int, **more: Any) -> None:
        session(ask, case, *wanted, epoch=epoch, max_wait_ms=800, min_bytes=1, **more)
        ask.steps[-1]["timing_max_wait_ms"] = 800

    timed("open, empty", at(t), at(t, 0, 1), epoch=0)
    timed("nothing new", epoch=1)
    ask.produce(t, batch(10))
    timed("records", epoch=2)
    timed("the same records", epoch=3)
    timed("read", at(t, 1), epoch=4)
    timed("an error", at(t, 0, 9), epoch=5)
    timed("an error again", epoch=6)
    timed("the error forgotten", epoch=7, forgotten_topics_data=[{"topic": t, "partitions": [9]}])
    ask.delete_records(t, 1)
    timed("only the log start is new", epoch=8)


@scenario("KIP-227 KIP-516 FetchManager.newContext")
def session_ids(ask: ScenarioBuilder) -> None:
    """A session keeps an unknown topic id and returns UNKNOWN_TOPIC_ID for it; if requests by name and by id are mixed,
    it returns FETCH_SESSION_TOPIC_ID_ERROR."""
    t = ask.topic()
    ask.produce(t, batch(10))
    bogus = ask.let("bogus.id", "0f0f0f0f-1111-4222-8333-444455556666")
    session(ask, "open with an unknown id", at("$t.id"), at(bogus), version=13)
    session(ask, "told again", epoch=1, version=13)
    session(ask, "moved on", at("$t.id", 1), epoch=2, version=13)
    session(ask, "by name", epoch=3, version=12)
    session(ask, "by name, named", at(t), epoch=3, version=12)
    session(ask, "by id again", epoch=3, version=13)
    session(
        ask, "forget the unknown", epoch=4, version=13, forgotten_topics_data=[{"topic_id": bogus, "partitions": [0]}]
    )
    session(ask, "quiet", epoch=5, version=13)
    session(ask, "open by name", at(t), s="SN", version=12)
    session(ask, "then by id", s="SN", epoch=1, version=13)
    session(ask, "then by id, named", at("$t.id"), s="SN", epoch=1, version=13)


@scenario("KIP-227 FetchManager.newContext")
def session_connections(ask: ScenarioBuilder) -> None:
    """A fetch session is not bound to a connection or to one version of Fetch, and versions before 7 do not use it."""
    t = ask.topic()
    ask.produce(t, batch(10))
    session(ask, "open", at(t))
    session(ask, "on another connection", epoch=1)
    ask.steps[-1]["conn"] = "other"
    for version in (7, 8, 9, 10, 12):
        session(ask, f"v{version}", epoch={7: 2, 8: 3, 9: 4, 10: 5, 12: 6}[version], version=version)
    ask.step("note", text="a version before sessions takes no notice of them")
    ask.fetch("v6", at(t), version=6)
    session(ask, "v11 again", epoch=7)


@scenario("KIP-227 CachedPartition.updateRequestParams")
def session_changing_terms(ask: ScenarioBuilder) -> None:
    """The isolation level, max_bytes and rack are those of each request, while offsets and limits of partitions are
    kept in the session."""
    t = ask.topic(partitions=2)
    for partition in range(2):
        ask.produce_each(t, [filled(n, 22) for n in range(2)], partition=partition)
    session(ask, "open", at(t), at(t, 0, 1))
    session(ask, "read committed", epoch=1, isolation_level=1)
    session(ask, "100 bytes", epoch=2, max_bytes=100)
    session(ask, "100 bytes a partition", at(t, 0, 0, 100), at(t, 0, 1, 100), epoch=3)
    session(ask, "which stay", epoch=4)
    session(ask, "1 from the second batch on", at(t, 1, 1), epoch=5)
    session(ask, "which stays", epoch=6)
    session(ask, "a rack", epoch=7, rack_id="r")


@scenario("KIP-227 KIP-516 FetchSession.update", level="detail", Fetch=13)
def found_session_zero_id(ask: ScenarioBuilder) -> None:
    """Release 3.9 returns UNKNOWN_SERVER_ERROR to a fetch that opens a session with the zero topic id, and release 4.4
    returns UNKNOWN_TOPIC_ID for this topic alone."""
    t = ask.topic(partitions=3)
    for partition in range(3):
        ask.produce(t, batch(10), partition=partition)
    ask.fetch("open with zero", at("$t.id"), at("ZERO"), version=13, session_id=0, session_epoch=0)
    ask.steps[-1]["bind"] = {"S0": "session_id"}
    ask.fetch("open with unknown", at("$t.id"), at(UNKNOWN_TOPIC_ID), version=13, session_id=0, session_epoch=0)
    ask.steps[-1]["bind"] = {"S": "session_id"}

    def go_on(case: str, epoch: int, *wanted: Step, **more: Any) -> None:
        ask.fetch(case, *wanted, version=13, session_id="$S", session_epoch=epoch, **more)

    zero = {"forgotten_topics_data": [{"topic_id": "ZERO", "partitions": [0]}]}
    go_on("add, zero, add", 1, at("$t.id", partition=1), at("ZERO"), at("$t.id", partition=2))
    go_on("the same epoch again", 1)
    go_on("forget zero", 2, at("$t.id", partition=2), **zero)
    go_on("the same epoch once more", 2)
    go_on("a new session with zero", 0, at("$t.id"), at("ZERO"))
    ask.steps[-1]["bind"] = {"S1": "session_id"}
    go_on("it has ended the old one", 3)
