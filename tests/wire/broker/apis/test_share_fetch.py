"""ShareFetch: what a member of a share group gets, and how its acknowledgements are answered."""

from collections.abc import Iterator

import pytest

from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code
from tests.wire.broker.share.members import ACCEPT, REJECT, RELEASE, RENEW, Jobs, jobs, partition_of
from tests.wire.brokers import batch

LIMITS = ("max_bytes", "min_bytes", "max_records", "max_wait_ms")
NO_LIMITS = dict.fromkeys(LIMITS, 0)


@pytest.fixture
def group() -> Iterator[Jobs]:
    with jobs() as opened:
        yield opened


def test_records_come_with_the_offsets_that_were_acquired(group: Jobs) -> None:
    group.write(3, 2)
    answer = group.member().request()
    partition = partition_of(answer)
    assert [records["base_offset"] for records in partition["records"]] == [0, 3]
    assert partition["acquired_records"] == [{"first_offset": 0, "last_offset": 4, "delivery_count": 1}]
    assert answer["acquisition_lock_timeout_ms"] == 30_000


def test_only_the_batches_of_acquired_records_are_returned(group: Jobs) -> None:
    group.write(3, 3, 3)
    member = group.member()
    assert member.fetch(max_records=3) == [(0, 2, 1)]
    assert member.fetch(max_records=3) == [(3, 5, 1)]
    assert [records["base_offset"] for records in partition_of(member.last)["records"]] == [3]


def test_a_record_limit_is_exact(group: Jobs) -> None:
    group.write(10)
    member = group.member()
    assert member.fetch(share_acquire_mode=1, max_records=4) == [(0, 3, 1)]
    assert member.fetch(share_acquire_mode=1, max_records=4) == [(4, 7, 1)]


def test_members_share_the_records(group: Jobs) -> None:
    group.write(5, 5)
    assert group.member("alice").fetch(max_records=5) == [(0, 4, 1)]
    assert group.member("bob").fetch() == [(5, 9, 1)]


def test_released_records_end_the_wait_of_the_request_that_releases_them(group: Jobs) -> None:
    group.write(10)
    member = group.member()
    member.fetch()
    assert member.fetch((0, 4, ACCEPT), (5, 6, RELEASE), (7, 9, REJECT), max_wait_ms=20_000) == [(5, 6, 2)]
    assert partition_of(member.last)["acknowledge_error_code"] == 0


def test_released_records_are_not_acquired_by_the_request_that_releases_them_if_there_are_others(group: Jobs) -> None:
    group.write(5)
    member = group.member()
    member.fetch()
    group.write(5)
    assert member.fetch((0, 4, RELEASE), max_wait_ms=20_000) == [(5, 9, 1)]
    assert member.fetch() == [(0, 4, 2)]


def test_an_acknowledgement_that_is_not_valid_has_an_error_of_its_own(group: Jobs) -> None:
    group.write(5)
    member = group.member()
    member.fetch()
    group.write(5)
    assert member.fetch((0, 20, ACCEPT)) == [(5, 9, 1)]
    partition = partition_of(member.last)
    assert (partition["error_code"], partition["acknowledge_error_code"]) == (0, Code.INVALID_REQUEST)
    assert partition["acknowledge_error_message"].startswith("Batch record not found.")


def test_a_partition_whose_records_are_only_acknowledged_is_in_the_response(group: Jobs) -> None:
    group.write(5)
    member = group.member()
    member.fetch()
    answer = member.request((0, 4, ACCEPT))
    assert partition_of(answer)["acknowledge_error_code"] == 0
    assert member.request(partitions=())["responses"] == []


def test_the_last_request_of_a_session_releases_what_is_left(group: Jobs) -> None:
    group.write(5)
    member = group.member()
    member.fetch()
    assert member.fetch((0, 1, ACCEPT), epoch=-1) == []
    assert group.member("bob").fetch() == [(2, 4, 2)]


@pytest.mark.parametrize(
    ("epoch", "code"),
    [(-1, Code.SHARE_SESSION_NOT_FOUND), (1, Code.SHARE_SESSION_NOT_FOUND), (0, Code.INVALID_REQUEST)],
)
def test_acknowledging_needs_a_session(group: Jobs, epoch: int, code: Code) -> None:
    answer = group.member().request((0, 1, ACCEPT), epoch=epoch)
    assert answer == {
        "throttle_time_ms": 0,
        "error_code": code,
        "error_message": None,
        "acquisition_lock_timeout_ms": 0,
        "responses": [],
        "node_endpoints": [],
    }


@pytest.mark.parametrize(
    "fields", [{"member_id": ""}, {"member_id": "x" * 37}, {"member_id": None}, {"group_id": None}]
)
def test_a_request_without_a_valid_member_is_refused(group: Jobs, fields: dict[str, str | None]) -> None:
    assert group.member().request(**fields)["error_code"] == Code.INVALID_REQUEST


def test_unknown_partitions_have_errors(group: Jobs) -> None:
    member = group.member()
    answer = member.request(partitions=(0, 7), topics=[*group.topics((0, 7), ()), UNKNOWN])
    codes = {
        (topic["topic_id"] == group.topic_id, partition["partition_index"]): partition["error_code"]
        for topic in answer["responses"]
        for partition in topic["partitions"]
    }
    assert codes == {(True, 0): 0, (True, 7): Code.UNKNOWN_TOPIC_OR_PARTITION, (False, 0): Code.UNKNOWN_TOPIC_ID}


def test_an_unknown_topic_is_an_error_of_the_whole_request_before_kafka_4_4() -> None:
    with jobs(version="4.3") as group:
        member = group.member()
        assert member.request(topics=[UNKNOWN])["error_code"] == Code.UNKNOWN_SERVER_ERROR
        assert member.request(partitions=(0,))["error_code"] == Code.UNKNOWN_SERVER_ERROR  # it stays in the session


UNKNOWN = {
    "topic_id": "11111111-2222-3333-4444-555555555555",
    "partitions": [{"partition_index": 0, "acknowledgement_batches": []}],
}


class TestRenewing:
    def test_a_request_that_renews_reads_nothing(self, group: Jobs) -> None:
        group.write(5)
        member = group.member()
        member.fetch()
        group.write(5)
        assert member.fetch((0, 4, RENEW), is_renew_ack=True, **NO_LIMITS) == []
        assert partition_of(member.last)["acknowledge_error_code"] == 0

    @pytest.mark.parametrize("limit", LIMITS)
    def test_its_limits_have_to_be_zero(self, group: Jobs, limit: str) -> None:
        member = group.member()
        member.fetch()
        answer = member.request((0, 4, RENEW), is_renew_ack=True, **{**NO_LIMITS, limit: 1})
        assert answer["error_code"] == Code.INVALID_REQUEST

    def test_other_requests_cannot_renew(self, group: Jobs) -> None:
        group.write(5)
        member = group.member()
        member.fetch()
        member.request((0, 4, RENEW))
        assert partition_of(member.last)["acknowledge_error_code"] == Code.INVALID_REQUEST
        member.request((0, 4, RENEW), version=1)
        assert partition_of(member.last)["acknowledge_error_code"] == Code.INVALID_REQUEST


def test_a_lock_expires_on_the_clock_of_the_cluster() -> None:
    clock = ManualClock()
    with jobs(clock=clock) as group:
        group.write(5)
        member = group.member()
        member.fetch()
        assert group.member("bob").fetch() == []
        clock.advance(milliseconds=30_000)
        assert group.member("carol").fetch() == [(0, 4, 2)]
        assert member.acknowledge((0, 4, ACCEPT)) is Code.INVALID_RECORD_STATE


def test_an_unknown_mode_is_an_error(group: Jobs) -> None:
    assert group.member().request(share_acquire_mode=7)["error_code"] == Code.UNKNOWN_SERVER_ERROR


def test_too_many_sessions_are_refused() -> None:
    with jobs(config={"group.share.max.share.sessions": "1"}) as group:
        group.member("alice").fetch()
        assert group.member("bob").request()["error_code"] == Code.SHARE_SESSION_LIMIT_REACHED


def test_a_fetch_over_the_quota_gets_nothing_but_has_acquired_its_record() -> None:
    clock = ManualClock()
    with jobs(clock=clock) as group:
        entity = [{"entity_type": "client-id", "entity_name": "conformance"}]
        quota = {"key": "consumer_byte_rate", "value": 10_000.0, "remove": False}
        group.wire.ask("AlterClientQuotas", 1, {"entries": [{"entity": entity, "ops": [quota]}]})
        for _ in range(6):
            group.wire.produce(batch(b"x" * 20_000, time=0))
        member = group.member()
        for offset in range(4):
            assert member.fetch(max_records=1) == [(offset, offset, 1)]
            assert member.last["throttle_time_ms"] == 0
        refused = member.request(max_records=1)
        assert (refused["error_code"], refused["responses"], refused["acquisition_lock_timeout_ms"]) == (0, [], 30_000)
        assert 0 < refused["throttle_time_ms"] < 100, "100,500 bytes in ten seconds exceed the quota by half a percent"
        clock.advance(milliseconds=100)
        assert member.acknowledge((0, 4, ACCEPT)) is Code.NONE
