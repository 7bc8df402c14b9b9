"""`kafkalet_conformance.shares`: the requests of the members of a share group."""

from kafkalet_conformance.building import ScenarioBuilder
from kafkalet_conformance.notation.messages import APIS
from kafkalet_conformance.shares import ACCEPT, GONE, OPEN, RELEASE, M, Reader, Share, of, parts

VERSIONS = {int(APIS[api]): (1, 2) for api in ("ShareFetch", "ShareAcknowledge")}


def reading() -> tuple[ScenarioBuilder, Reader]:
    ask = ScenarioBuilder("s", "4.4", VERSIONS)
    return ask, Reader(Share(ask), conn="second")


def test_epoch_grows_with_each_request_of_a_session() -> None:
    ask, reader = reading()
    reader.fetch("first", of("$t.id"))
    reader.acknowledge("second", of("$t.id", (0, 0, ACCEPT)))
    reader.poll("third")
    assert [step["body"]["share_session_epoch"] for step in ask.steps[-3:]] == [OPEN, 1, 2]


def test_session_that_was_closed_is_opened_again() -> None:
    ask, reader = reading()
    reader.fetch("first", of("$t.id"))
    reader.close("close")
    reader.fetch("again", of("$t.id"))
    assert [step["body"]["share_session_epoch"] for step in ask.steps[-3:]] == [OPEN, GONE, OPEN]


def test_requests_have_the_newest_version_and_the_connection_of_the_member() -> None:
    ask, reader = reading()
    reader.fetch("newest", of("$t.id"))
    reader.fetch("oldest", version=1)
    assert [(step["version"], step["conn"], step["body"]["member_id"]) for step in ask.steps[-2:]] == [
        (2, "second", M),
        (1, "second", M),
    ]


def test_request_without_case_is_not_compared() -> None:
    ask, reader = reading()
    reader.fetch("", of("$t.id"))
    assert ask.steps[-1]["setup"]
    assert "case" not in ask.steps[-1]


def test_types_of_acknowledgements_are_for_all_records_or_for_each() -> None:
    [partition] = of("$t.id", (0, 2, ACCEPT), (3, 4, (ACCEPT, RELEASE)), partition=7)["partitions"]
    assert partition["partition_index"] == 7
    assert [each["acknowledge_types"] for each in partition["acknowledgement_batches"]] == [[1], [1, 2]]


def test_partitions_to_fetch_have_no_acknowledgements() -> None:
    assert [each["acknowledgement_batches"] for each in parts("$t.id", 0, 1)["partitions"]] == [[], []]
