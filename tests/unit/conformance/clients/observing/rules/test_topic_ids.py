"""Topic ids in requests against those that the broker returned."""

from kafkalet.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalet.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalet_conformance.clients.observing.rules.topic_ids import TopicIds

from .synthetic import Exchanges
from .test_leader_epochs import ID, fetch, metadata

NEW = bytes(range(1, 17))
ASK = ApiVersionsRequest(client_software_name="c", client_software_version="1")
ALL = MetadataRequest(topics=None)


def begun() -> Exchanges:
    exchanges = Exchanges(TopicIds())
    exchanges.ask(ASK, 3, ApiVersionsResponse(api_keys=[]))
    return exchanges


def with_id(topic_id: bytes) -> MetadataResponse:
    response = metadata(1)
    response.topics[0].topic_id = topic_id
    return response


def test_id_from_metadata_is_correct() -> None:
    exchanges = begun()
    exchanges.ask(ALL, 12, with_id(ID))
    exchanges.sends(fetch(1), 13)
    assert exchanges.found == []


def test_id_that_no_client_received_is_found() -> None:
    exchanges = begun()
    exchanges.sends(fetch(1), 13)
    assert exchanges.found == ["topic-id-told"]


def test_client_that_began_earlier_is_not_judged() -> None:
    exchanges = Exchanges(TopicIds())
    exchanges.sends(fetch(1), 13)
    assert exchanges.found == []


def test_old_id_of_a_topic_is_found() -> None:
    exchanges = begun()
    exchanges.ask(ALL, 12, with_id(ID))
    exchanges.ask(ALL, 12, with_id(NEW))
    exchanges.sends(fetch(1), 13)
    exchanges.sends(fetch(1), 13, after_s=5)
    assert exchanges.found == ["topic-id-stale"]
