"""Share sessions and acknowledgements: epochs, forgotten partitions, and records that were acquired."""

from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from kafkalet.protocol.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from kafkalet_conformance.clients.observing.rules.share_sessions import ShareSessions

from .synthetic import Exchanges

TOPIC = b"t" * 16
ACCEPT, RENEW = 1, 4
Range = tuple[int, int, int]
Fetched = ShareFetchResponse.Topic.Partition
Done = ShareAcknowledgeResponse.Topic.Partition


def fetch(
    epoch: int, *partitions: int, acknowledges: tuple[Range, ...] = (), forgets: tuple[int, ...] = ()
) -> ShareFetchRequest:
    part = ShareFetchRequest.Topic.Partition
    batches = [
        part.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=[kind])
        for first, last, kind in acknowledges
    ]
    listed = [part(partition_index=index, acknowledgement_batches=batches) for index in partitions]
    return ShareFetchRequest(
        group_id="g",
        member_id="m",
        share_session_epoch=epoch,
        max_wait_ms=1,
        min_bytes=1,
        max_records=1,
        batch_size=1,
        topics=[ShareFetchRequest.Topic(topic_id=TOPIC, partitions=listed)],
        forgotten_topics_data=[ShareFetchRequest.ForgottenTopic(topic_id=TOPIC, partitions=list(forgets))],
    )


def fetched(*acquired: tuple[int, int], error: Code = Code.NONE) -> ShareFetchResponse:
    leader = Fetched.LeaderIdAndEpoch(leader_id=0, leader_epoch=0)
    records = [
        Fetched.AcquiredRecords(first_offset=first, last_offset=last, delivery_count=1) for first, last in acquired
    ]
    part = Fetched(
        partition_index=0, acknowledge_error_code=0, current_leader=leader, records=[], acquired_records=records
    )
    topics = [ShareFetchResponse.Topic(topic_id=TOPIC, partitions=[part])] if acquired else []
    return ShareFetchResponse(error_code=error, acquisition_lock_timeout_ms=30000, responses=topics, node_endpoints=[])


def acknowledge(epoch: int, *ranges: Range) -> ShareAcknowledgeRequest:
    part = ShareFetchRequest.Topic.Partition
    batches = [
        part.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=[kind])
        for first, last, kind in ranges
    ]
    topic = ShareFetchRequest.Topic(
        topic_id=TOPIC, partitions=[part(partition_index=0, acknowledgement_batches=batches)]
    )
    return ShareAcknowledgeRequest(group_id="g", member_id="m", share_session_epoch=epoch, topics=[topic])


def acknowledged(error: Code = Code.NONE, of_partition: Code = Code.NONE) -> ShareAcknowledgeResponse:
    leader = Fetched.LeaderIdAndEpoch(leader_id=0, leader_epoch=0)
    part = Done(partition_index=0, error_code=of_partition, current_leader=leader)
    topics = [ShareAcknowledgeResponse.Topic(topic_id=TOPIC, partitions=[part])]
    return ShareAcknowledgeResponse(
        error_code=error, acquisition_lock_timeout_ms=30000, responses=topics, node_endpoints=[]
    )


def begun() -> Exchanges:
    """Return exchanges in which a member has acquired the offsets 0 to 9."""
    exchanges = Exchanges(ShareSessions())
    exchanges.ask(fetch(0, 0), 1, fetched((0, 9)))
    return exchanges


def test_member_that_acknowledges_what_it_acquired_is_correct() -> None:
    exchanges = begun()
    exchanges.ask(acknowledge(1, (0, 4, ACCEPT)), 1, acknowledged())
    exchanges.ask(fetch(2, 0, acknowledges=((5, 9, ACCEPT),)), 1, fetched((10, 12)))
    exchanges.ask(acknowledge(-1, (10, 12, ACCEPT)), 1, acknowledged())
    exchanges.ask(fetch(0, 0), 1, fetched((13, 13)))
    assert exchanges.found == []


def test_skipped_epoch_is_found() -> None:
    exchanges = begun()
    exchanges.sends(fetch(2), 1)
    assert exchanges.found == ["share-session-epoch"]
    assert exchanges.texts == ["the session continues with epoch 2; 1 comes next"]


def test_epoch_after_the_end_of_the_session_is_found() -> None:
    exchanges = begun()
    exchanges.ask(acknowledge(-1), 1, acknowledged())
    exchanges.sends(fetch(1), 1)
    assert exchanges.found == ["share-session-epoch"]


def test_epoch_without_a_session_is_found() -> None:
    exchanges = Exchanges(ShareSessions())
    exchanges.sends(fetch(3), 1)
    assert exchanges.found == ["share-session-epoch"]


def test_acknowledgement_that_opens_a_session_is_found() -> None:
    exchanges = begun()
    exchanges.sends(acknowledge(0), 1)
    exchanges.sends(fetch(0, 0, acknowledges=((0, 0, ACCEPT),)), 1)
    assert exchanges.found == ["share-session-epoch", "share-acknowledge-opening"]


def test_session_that_continues_after_an_error_is_found() -> None:
    exchanges = begun()
    exchanges.ask(fetch(1), 1, fetched(error=Code.SHARE_SESSION_NOT_FOUND))
    exchanges.sends(fetch(2), 1)
    assert exchanges.found == ["share-session-restart"]


def test_session_that_begins_again_after_an_error_is_correct() -> None:
    exchanges = begun()
    exchanges.ask(fetch(1), 1, fetched(error=Code.INVALID_SHARE_SESSION_EPOCH))
    exchanges.ask(fetch(0, 0), 1, fetched((0, 9)))
    exchanges.ask(fetch(1), 1, fetched())
    assert exchanges.found == []


def test_any_epoch_is_correct_if_the_last_response_is_unknown() -> None:
    exchanges = begun()
    exchanges.leaves(exchanges.sends(fetch(1), 1))
    exchanges.sends(fetch(1), 1)
    assert exchanges.found == []


def test_record_that_was_not_acquired_is_found() -> None:
    exchanges = begun()
    exchanges.sends(acknowledge(1, (8, 10, ACCEPT)), 1)
    assert exchanges.found == ["share-acknowledge-acquired"]
    assert exchanges.texts == ["offset 10 of partition 0 is acknowledged, but is not acquired"]


def test_record_that_is_acknowledged_twice_is_found() -> None:
    exchanges = begun()
    exchanges.ask(acknowledge(1, (0, 4, ACCEPT)), 1, acknowledged())
    exchanges.sends(acknowledge(2, (4, 9, ACCEPT)), 1)
    assert exchanges.found == ["share-acknowledge-acquired"]


def test_record_can_be_acknowledged_after_a_renewal_or_an_error() -> None:
    exchanges = begun()
    exchanges.ask(acknowledge(1, (0, 9, RENEW)), 2, acknowledged())
    exchanges.ask(acknowledge(2, (0, 9, ACCEPT)), 2, acknowledged(of_partition=Code.COORDINATOR_NOT_AVAILABLE))
    exchanges.ask(acknowledge(3, (0, 9, ACCEPT)), 2, acknowledged())
    assert exchanges.found == []


def test_partition_that_is_not_in_the_session_cannot_be_forgotten() -> None:
    exchanges = begun()
    exchanges.ask(fetch(1, forgets=(0,)), 1, fetched())
    exchanges.sends(fetch(2, forgets=(0,)), 1)
    assert exchanges.found == ["share-session-forgotten"]
