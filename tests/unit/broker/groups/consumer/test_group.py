"""Consumer groups in random histories with restarts: no partition ever has two owners."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.profile import examples
from tests.unit.broker.groups.consuming import AT_ONCE, Consuming
from tests.unit.model.stage import Stage

MEMBERS = ("a", "b", "c", "d")
TOPICS = {"t": 5, "u": 3}

members = st.sampled_from(MEMBERS)
steps = st.one_of(
    st.tuples(st.just("join"), members, st.sets(st.sampled_from(sorted(TOPICS)), min_size=1)),
    st.tuples(st.just("beat"), members, st.none()),
    st.tuples(st.just("beat"), members, st.none()),
    st.tuples(st.just("beat"), members, st.sets(st.sampled_from(sorted(TOPICS)))),
    st.tuples(st.just("leave"), members, st.none()),
    st.tuples(st.just("grow"), st.just("t"), st.none()),
    st.tuples(st.just("pass"), st.just(""), st.none()),
    st.tuples(st.just("restart"), st.just(""), st.none()),
)


def take(step: tuple[str, str, set[str] | None], consuming: Consuming) -> None:
    """Execute a step, if it is possible in the current state."""
    what, name, topics = step
    known = name in consuming.epochs
    stage = consuming.stage
    if what == "join" and not known:
        consuming.join(name, *sorted(topics or ()))
    elif what == "beat" and known:
        consuming.beat(name, **({} if topics is None else {"subscribed_topic_names": sorted(topics)}))
    elif what == "leave" and known:
        assert consuming.leave(name) == 0
        del consuming.epochs[name], consuming.owned[name]
    elif what == "grow":
        stage.cluster._server.controller.add_partitions(stage.cluster._server.metadata.topics["t"], [[1]])
    elif what == "pass":
        stage.advance(2000)
    elif what == "restart" and consuming.epochs:
        before = consuming.describe()
        stage.restart()
        assert consuming.describe() == before


def owners(consuming: Consuming) -> list[tuple[str, int]]:
    return [
        (topic, partition)
        for owned in consuming.owned.values()
        for topic, partitions in owned.items()
        for partition in partitions
    ]


@settings(max_examples=examples(0.25), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, min_size=5, max_size=40))
def test_partitions_have_one_owner_and_all_are_assigned_in_the_end(
    history: list[tuple[str, str, set[str] | None]],
) -> None:
    stage = Stage(1, **AT_ONCE)
    try:
        for topic, count in TOPICS.items():
            stage.cluster.topic(topic).create(count)
        consuming = Consuming(stage)
        for step in history:
            take(step, consuming)
            owned = owners(consuming)
            assert len(owned) == len(set(owned))
        consuming.settle()
        wanted = {topic for member_id in consuming.epochs for topic in consuming.group.member(member_id).topic_names}
        counts = {topic: len(stage.cluster._server.metadata.topics[topic].partitions) for topic in wanted}
        everything = [(topic, partition) for topic, count in counts.items() for partition in range(count)]
        assert sorted(owners(consuming)) == sorted(everything)
    finally:
        stage.close()
