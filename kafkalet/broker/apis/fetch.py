"""Fetch v0-18: read record batches, starting at an offset of each partition.

v3  adds max_bytes for the whole response; partitions are read in the requested order, and the first batch is returned
    completely even if it is larger than the limit (KIP-74)
v4  adds the isolation level, last stable offsets and aborted transactions (KIP-98)
v5  adds log start offsets (KIP-107)
v7  adds incremental fetch sessions (KIP-227, fetch_sessions.py)
v9  adds the current leader epoch, for fencing (KIP-320)
v11 adds the client's rack and the preferred read replica; consumers may read from followers (KIP-392)
v12 adds the last fetched epoch and diverging epochs (KIP-595)
v13 replaces topic names with topic ids (KIP-516)
v16 adds the current leader and its endpoint to NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH (KIP-951)

The partitions to read are selected first (fetch_partitions.py). Refused partitions come last in the response, and their
errors do not end a wait. The handler responds immediately if max_wait_ms is 0, no partition can be read, min_bytes are
available, a read failed, or a reader has diverged from the log. Otherwise the request waits until enough records have
arrived or max_wait_ms has passed, and then reads all partitions again.

Source: kafka.server.KafkaApis.handleFetchRequest, ReplicaManager.fetchMessages and readFromLog, DelayedFetch.
"""

from collections.abc import Callable, Collection, Coroutine, Iterator
from typing import Any, NamedTuple, TypeVar

from kafkalet.broker.cluster.partition import Partition, Read
from kafkalet.broker.config.release import Release
from kafkalet.broker.context import Context
from kafkalet.broker.fetch_sessions import (
    NAMELESS,
    NO_SESSION,
    Key,
    PartitionResult,
    RequestedPartition,
)
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkalet.protocol.wire import ZERO_UUID
from kafkalet.storage.files import FileRange
from kafkalet.storage.values import Isolation, LogOffsetMetadata
from kafkalet.tasks.delayed import Delayed
from kafkalet.tasks.task import pause, until

from .fetch_conversion import convert, refused
from .fetch_partitions import ErrorOf, FetchPartitions
from .fetch_plan import CONSUMER, READ_BYTES, learn
from .fetch_quota import fetch_max_bytes, refuses

AnswerTopic = FetchResponse.Topic
Answer = FetchResponse.Topic.Partition

T = TypeVar("T")

FUTURE_REPLICA = -3
UNKNOWN = -1
PARTITIONS_WITHOUT_PAUSE = 100
"""The largest number of partitions to read without pausing for other requests."""
UNCONVERTED_SINCE = 10
"""The first version for which records are never down-converted."""
ISOLATION_LEVELS = {0: Isolation.HIGH_WATERMARK, 1: Isolation.LAST_STABLE}


class Limits(NamedTuple):
    """The parameters of a request that apply to all of its partitions (Kafka's FetchParams)."""

    replica_id: int
    isolation: Isolation
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    only_leader: bool
    rack: str | None
    """The rack of a consumer that supports preferred read replicas, otherwise None."""
    first_batch_whole: bool

    @property
    def from_follower(self) -> bool:
        return self.replica_id >= 0


class Found(NamedTuple):
    """The result of reading one partition."""

    answer: Answer
    size: int
    """How many bytes of the limits are used up: those of the records, unless they are in remote storage."""
    position: LogOffsetMetadata | None
    """The position of the fetch offset, or None if the partition could not be read."""
    answer_now: bool
    """Whether the response has to be sent without waiting for more records."""


def handle(
    request: FetchRequest, context: Context, error_of: ErrorOf | None = None
) -> FetchResponse | Delayed[FetchResponse] | Coroutine[Any, Any, FetchResponse]:
    """Handle a request. Faults pass `error_of`, which returns an error for each partition that is not to be read."""
    return _Fetch(request, context, error_of).serve()


class _Fetch:
    """A Fetch request that is being processed."""

    def __init__(self, request: FetchRequest, context: Context, error_of: ErrorOf | None) -> None:
        self.request = request
        self.context = context
        self.error_of = error_of
        self.level = ISOLATION_LEVELS.get(request.isolation_level)
        state = request.replica_state
        self.replica_id = request.replica_id if state is None else state.replica_id
        self.partitions = FetchPartitions(request, context, self.replica_id)
        self.session = self.partitions.session
        self.has_read_remote = False

    @property
    def is_plain(self) -> bool:
        """Whether the fast paths may be used (fetch_plan.py, fetch_partitions.py)."""
        return (
            self.context.is_plain
            and self.context.version >= UNCONVERTED_SINCE
            and self.replica_id == CONSUMER
            and self.error_of is None
        )

    def serve(self) -> FetchResponse | Delayed[FetchResponse] | Coroutine[Any, Any, FetchResponse]:
        partitions, level, is_plain = self.partitions, self.level, self.is_plain
        partitions.select(self.error_of, level if is_plain else None)
        if not partitions:
            return self._respond({})
        if level is None:
            return self._refuse_all(Code.UNKNOWN_SERVER_ERROR)
        self.context.reads_committed = level is Isolation.LAST_STABLE
        limits = self._limits(level)
        if len(partitions.readable) > PARTITIONS_WITHOUT_PAUSE or self.context.version < UNCONVERTED_SINCE:
            return self._serve_in_turns(limits)
        found = self._read(limits, first_time=True)
        if self._is_due(limits, found) or self._enough(limits, found):
            response = self._respond(found)
            if is_plain and len(partitions.readable) == 1:
                learn(self.request, response, self.context, self.session, level, only_leader=limits.only_leader)
            return response
        return self._wait(limits, found, lambda: self._respond(self._read(limits, first_time=False)))

    async def _serve_in_turns(self, limits: Limits) -> FetchResponse:
        """Serve a request that may take a long time, and pause for other requests."""
        found = await self._read_in_turns(limits, first_time=True)
        if not self._is_due(limits, found):
            if not self._enough(limits, found):  # records may have been appended during the pauses
                await until(self._wait(limits, found, lambda: True))
            found = await self._read_in_turns(limits, first_time=False)
        answers = self._answers(found)
        if self._is_refused(answers):
            return self._empty_response()
        settled = self._settle(answers)
        if self.context.version < UNCONVERTED_SINCE:
            await self._convert(answers)
        return self._build_response(answers, *settled)

    def _limits(self, level: Isolation) -> Limits:
        request, context = self.request, self.context
        consumer = self.replica_id < 0 and self.replica_id != FUTURE_REPLICA
        max_bytes = min(request.max_bytes, fetch_max_bytes(context))
        return Limits(
            replica_id=self.replica_id,
            isolation=level if consumer else Isolation.LOG_END,
            max_wait_ms=request.max_wait_ms,
            min_bytes=min(request.min_bytes, max_bytes),
            max_bytes=max_bytes,
            only_leader=self.replica_id >= 0 or (consumer and context.version < 11),
            rack=request.rack_id if consumer and context.version >= 11 else None,
            first_batch_whole=context.version >= 3,
        )

    # Reading the logs

    def _read(self, limits: Limits, first_time: bool) -> dict[Key, Found]:
        return dict(self._reading(limits, first_time))

    async def _read_in_turns(self, limits: Limits, first_time: bool) -> dict[Key, Found]:
        found: dict[Key, Found] = {}
        for key, one in self._reading(limits, first_time):
            found[key] = one
            await pause()
        return found

    def _reading(self, limits: Limits, first_time: bool) -> Iterator[tuple[Key, Found]]:
        """Read the partitions in order, within the limit for the whole response."""
        at_least_one = limits.first_batch_whole
        left = limits.max_bytes
        for key, requested in self.partitions.readable if first_time else self.partitions.to_read():
            one = self._read_partition(key, requested, limits, min(requested.max_bytes, left), at_least_one, first_time)
            yield key, one
            at_least_one = at_least_one and one.size == 0
            left = max(0, left - one.size)  # a negative max_bytes applies only to the first partition

    def _is_due(self, limits: Limits, found: dict[Key, Found]) -> bool:
        """Return whether the request can be answered from the records read so far."""
        return (
            any(one.answer_now for one in found.values())
            or limits.max_wait_ms <= 0
            or sum(one.size for one in found.values()) >= limits.min_bytes
        )

    def _read_partition(
        self,
        key: Key,
        requested: RequestedPartition,
        limits: Limits,
        max_bytes: int,
        at_least_one: bool,
        first_time: bool,
    ) -> Found:
        name, topic_id, index = key
        if self.error_of is not None and (code := self.error_of(name, index)) is not None:
            return self._failed(name, index, code)
        try:
            partition = self.context.node.partition(name, index)
            if topic_id is not None and topic_id != partition.topic_id:
                raise KafkaError(Code.INCONSISTENT_TOPIC_ID, f"topic {name} has been recreated with another id")
            preferred = self._preferred_replica(partition, requested, limits)
            if preferred is not None:
                return preferred
            if limits.from_follower:
                self._check_follower(partition, requested, limits.replica_id, self.context.release)
            is_stranger = limits.from_follower and limits.replica_id not in partition.followers
            is_remote = partition.log.local.tier is not None and partition.log.is_remote(requested.fetch_offset)
            skips = is_remote and self._skips_remote(max_bytes)
            read = partition.read(
                requested.fetch_offset,
                0 if skips else max_bytes,
                limits.isolation,
                at_least_one and not skips,
                requested.current_leader_epoch,
                requested.last_fetched_epoch,
                limits.only_leader,
            )
        except KafkaError as error:
            return self._failed(name, index, error.code)
        if is_stranger:
            read = read._replace(result=None)
        elif limits.from_follower and first_time and read.diverging is None:
            self.context.controller.follower_fetched(
                partition, limits.replica_id, requested.fetch_offset, requested.log_start_offset
            )
        found = self._succeeded(index, read, limits)
        if skips:
            found.answer.aborted_transactions = None
        elif is_remote:
            self.has_read_remote = True
            together = self.context.release.reads_remote_partitions_together
            return found._replace(answer_now=True, size=max_bytes if together else 0)
        return found

    def _skips_remote(self, max_bytes: int) -> bool:
        """Return whether a partition is left out because its records are in remote storage
        (ReplicaManager.handleOffsetOutOfRangeError)."""
        together = self.context.release.reads_remote_partitions_together
        return max_bytes <= 0 if together else self.has_read_remote

    def _succeeded(self, index: int, read: Read, limits: Limits) -> Found:
        answer = Answer(
            partition_index=index,
            high_watermark=read.high_watermark,
            last_stable_offset=read.last_stable_offset,
            log_start_offset=read.log_start_offset,
            aborted_transactions=None,
            records=b"",
        )
        if read.diverging is not None:
            answer.diverging_epoch = Answer.EpochEndOffset(
                epoch=read.diverging.leader_epoch, end_offset=read.diverging.end_offset
            )
        result = read.result
        if result is None:
            return Found(answer, 0, None, True)
        if limits.first_batch_whole and result.first_entry_incomplete:
            # ReplicaManager.readFromLog returns no records and no aborted transactions instead of an incomplete batch.
            return Found(answer, 0, result.position, False)
        if result.aborted is not None:
            answer.aborted_transactions = [
                Answer.AbortedTransaction(producer_id=aborted.producer_id, first_offset=aborted.first_offset)
                for aborted in result.aborted
            ]
        answer.records = result.records
        return Found(answer, len(result.records), result.position, False)

    def _failed(self, name: str, index: int, code: Code) -> Found:
        answer = Answer(
            partition_index=index,
            error_code=code,
            high_watermark=UNKNOWN,
            last_stable_offset=UNKNOWN,
            log_start_offset=UNKNOWN,
            aborted_transactions=None,
            records=b"",
        )
        if self.context.version >= 16 and code in (Code.NOT_LEADER_OR_FOLLOWER, Code.FENCED_LEADER_EPOCH):
            state = self.context.metadata.partition(name, index)
            if state is not None:
                answer.current_leader = Answer.LeaderIdAndEpoch(leader_id=state.leader, leader_epoch=state.leader_epoch)
        return Found(answer, 0, None, True)

    def _preferred_replica(self, partition: Partition, requested: RequestedPartition, limits: Limits) -> Found | None:
        """Redirect a consumer to a replica in its rack (KIP-392), if the replica selector finds one."""
        if limits.rack is None or not partition.is_leader:
            return None
        node = self.context.controller.preferred_replica(partition, limits.rack, requested.fetch_offset)
        if node is None:
            return None
        log = partition.log_for(requested.current_leader_epoch)
        answer = Answer(
            partition_index=partition.index,
            high_watermark=log.high_watermark,
            last_stable_offset=log.last_stable_offset,
            log_start_offset=log.log_start_offset,
            aborted_transactions=None,
            preferred_read_replica=node,
            records=b"",
        )
        return Found(answer, 0, None, True)

    @staticmethod
    def _check_follower(partition: Partition, requested: RequestedPartition, replica_id: int, release: Release) -> None:
        """Raise KafkaError unless the follower is an assigned replica (Partition.followerReplicaOrThrow)."""
        partition.log_for(requested.current_leader_epoch)
        if replica_id not in partition.followers and not release.serves_strangers:
            code = Code.NOT_LEADER_OR_FOLLOWER if requested.current_leader_epoch is None else Code.UNKNOWN_LEADER_EPOCH
            raise KafkaError(code, f"broker {replica_id} is not a replica of {partition!r}")
        if partition.log.is_remote(requested.fetch_offset):
            raise KafkaError(Code.OFFSET_MOVED_TO_TIERED_STORAGE, f"{partition!r} has these records in remote storage")

    # Waiting

    def _wait(self, limits: Limits, found: dict[Key, Found], then: Callable[[], T]) -> Delayed[T]:
        """Wait until enough can be read or max_wait_ms has passed, and then respond with the result of `then`."""
        waiting: Delayed[T] = self.context.node.purgatory.park(
            list(self.partitions.waiting_for()),
            limits.max_wait_ms,
            lambda: then() if self._enough(limits, found) else None,
            then,
            may_hurry=not self.context.node.config.kafkalet_closing_fetch_wait,
        )
        return waiting

    def _enough(self, limits: Limits, found: dict[Key, Found]) -> bool:
        """Return whether the request can complete (DelayedFetch.tryComplete). Does not read the logs."""
        readable_bytes = 0
        places = [(key, requested, found[key].position) for key, requested in self.partitions.readable]
        for key, requested, place in [*places, *self.partitions.changed()]:
            assert place is not None, "a request with a failed partition must not wait"
            name, _, index = key
            try:
                partition = self.context.node.partition(name, index)
                end = partition.end_metadata(limits.isolation, requested.current_leader_epoch, limits.only_leader)
                if place.offset > end.offset:
                    if not self._waits_past(end, place):
                        return True
                elif place.offset < end.offset and place.on_older_segment(end):
                    return True
                if place.offset < end.offset and place.on_same_segment(end):
                    readable_bytes += min(end.bytes_since(place), requested.max_bytes)
                if requested.last_fetched_epoch is not None and partition.has_diverged(
                    requested.fetch_offset, requested.last_fetched_epoch
                ):
                    return True
            except KafkaError:
                return True
        return readable_bytes >= limits.min_bytes

    def _waits_past(self, end: LogOffsetMetadata, place: LogOffsetMetadata) -> bool:
        """Return whether a request has to wait if its reader is past the last offset that it may read."""
        release = self.context.release
        if release.waits_past_end_in_same_segment:
            return not end.on_older_segment(place)
        return release.waits_past_end_in_same_batch and place.is_in_entry_at(end)

    # Building the response

    def _respond(self, found: dict[Key, Found]) -> FetchResponse:
        answers = self._answers(found)
        return (
            self._empty_response()
            if self._is_refused(answers)
            else self._build_response(answers, *self._settle(answers))
        )

    def _answers(self, found: dict[Key, Found]) -> dict[Key, Answer]:
        answers = {key: one.answer for key, one in found.items()}
        for key, code in self.partitions.refused.items():
            knows_aborted = not self.context.release.returns_null_for_unread_partitions
            answers[key] = refused(key[2], code, knows_aborted=knows_aborted)
        return answers

    def _is_refused(self, answers: dict[Key, Answer]) -> bool:
        """Return whether the response exceeds the client's quota. The client is then muted and has to retry."""
        return self.replica_id < 0 and refuses(answers, self.context)

    def _empty_response(self) -> FetchResponse:
        return FetchResponse(session_id=self.session.kept_id, responses=[])

    async def _convert(self, answers: dict[Key, Answer]) -> None:
        """Convert the records to a message format that the request version supports."""
        for key, requested in self.partitions.readable:
            from_follower = self.replica_id >= 0
            answers[key] = await convert(
                answers[key], key[0], requested.fetch_offset, self.context, from_follower=from_follower
            )

    def _build_response(
        self, answers: dict[Key, Answer], error: Code, session_id: int, keys: Collection[Key]
    ) -> FetchResponse:
        """Build the response from the partitions in `keys`, grouped by topic."""
        topics: list[AnswerTopic] = []
        last: tuple[str, bytes | None] | None = None
        for key in keys:
            answer = answers[key]
            if last == NAMELESS:
                return self._refuse_all(Code.UNKNOWN_SERVER_ERROR)  # as in Kafka, see NAMELESS
            if last != key[:2]:
                last = key[:2]
                topics.append(AnswerTopic(topic=key[0], topic_id=key[1] or ZERO_UUID, partitions=[]))
            topics[-1].partitions.append(answer)
            if isinstance(answer.records, FileRange) and len(answer.records) <= READ_BYTES:
                try:
                    answer.records = answer.records.read()
                except OSError:  # already reported
                    topics[-1].partitions[-1] = refused(key[2], Code.KAFKA_STORAGE_ERROR, knows_aborted=False)
        return FetchResponse(
            error_code=error, session_id=session_id, responses=topics, node_endpoints=self._endpoints(answers)
        )

    def _settle(self, answers: dict[Key, Answer]) -> tuple[Code, int, Collection[Key]]:
        """Return the top-level error, the session id, and the partitions to include in the response, in order."""
        if self.session.is_stateless:
            return Code.NONE, NO_SESSION, answers
        return self.session.settle(
            {
                key: PartitionResult(
                    answer.error_code,
                    answer.high_watermark,
                    answer.log_start_offset,
                    len(answer.records or b""),
                    answer.diverging_epoch is not None or answer.preferred_read_replica >= 0,
                )
                for key, answer in answers.items()
            }
        )

    def _endpoints(self, answers: dict[Key, Answer]) -> list[FetchResponse.NodeEndpoint]:
        """Return the endpoints of the current leaders in the response (KIP-951)."""
        if self.context.version < 16:
            return []
        if self.replica_id >= 0 and not self.context.release.returns_endpoints_to_followers:
            return []
        leaders = {answer.current_leader.leader_id for answer in answers.values() if answer.current_leader is not None}
        return [
            FetchResponse.NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
            for node in self.context.endpoints(leaders).values()
        ]

    def _refuse_all(self, code: Code) -> FetchResponse:
        """Fail the whole request. Versions without topic ids also return the error for every partition."""
        topics: list[AnswerTopic] = []
        if self.context.version < 13:
            records = None if self.context.release.returns_null_records_on_fetch_errors else b""
            topics = [
                AnswerTopic(
                    topic=topic.topic,
                    partitions=[refused(partition.partition, code, records) for partition in topic.partitions],
                )
                for topic in self.request.topics
            ]
        return FetchResponse(error_code=code, session_id=self.request.session_id, responses=topics)
