"""Fetch from one partition, one request ahead, following its leader.

    ask(offset)      sends a request and returns immediately
    answer()         returns the response. If the leader has changed or the connection is lost, the request is repeated

Each fetcher has its own connection, so that a fetch may be pending while other requests are sent to the same broker.
Fetch sessions (KIP-227) are not used: every request is complete.

From version 13 on, requests identify topics by id (KIP-516); the ids are taken from Metadata responses. If a rack is
configured, the leader may refer the fetcher to another replica (KIP-392). If that replica does not have the offset, the
fetcher returns to the leader.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, code_of
from kafkalet.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkalet.protocol.wire import ZERO_UUID, Buffer

from .broker import PASSING, LiveBroker
from .client_properties import ISOLATION_LEVELS
from .connection import Address, Connection
from .lookups import EARLIEST, LATEST
from .metadata import Leader
from .refusals import OffsetOutOfRange, PartitionRefused, Unreachable

LOWEST_VERSION = 4
"""The first version with isolation levels and record batches of format 2 (0.11)."""
LAST_BY_NAME = 12


class FetchAnswer(NamedTuple):
    """A response: the entries in `buffer[start:end]`, the last of which may be incomplete, and some offsets of the
    log."""

    buffer: bytearray
    start: int
    end: int
    aborted: list[tuple[int, int]]
    """The producer id and first offset of each aborted transaction that overlaps these entries (with
    read_committed)."""
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int


class PartitionFetcher:
    """Fetches the entries of a partition. Raises OffsetOutOfRange and the exceptions of LiveBroker."""

    def __init__(self, broker: LiveBroker, topic: str, partition: int, isolation_level: str | None = None) -> None:
        self._broker = broker
        self._settings = broker.settings
        self._topic = topic
        self._partition = partition
        self._isolation_level = isolation_level or self._settings.isolation_level
        self._connection: Connection | None = None
        self._replica: int | None = None
        self._is_asked = False
        self._offset = 0

    def close(self) -> None:
        """Close the connection, and drop any pending request."""
        self._is_asked = False
        if self._connection is not None:
            self._connection.close()

    @property
    def address(self) -> Address | None:
        """The address of the broker to which the last request was sent."""
        return None if self._connection is None else self._connection.address

    def ask(self, offset: int) -> None:
        """Request the entries at `offset` and later. Errors are not raised here but by `answer`."""
        assert not self._is_asked, "one request at a time"
        self._offset = offset
        if self._connection is not None and (leader := self._leader()) is not None:
            try:
                self._send(leader)
            except Unreachable:
                self._moved()

    def answer(self) -> FetchAnswer:
        """Return the response: the entry that holds the requested offset, and as many entries after it as the limits
        allow."""
        patience = self._broker.patience()
        while True:
            reason: Exception
            try:
                if not self._is_asked:
                    self._send(self._leader_now())
                row, frame = self._receive()
            except Unreachable as error:
                reason = error
            except PartitionRefused as error:
                if error.code not in PASSING:
                    raise
                reason = error
            else:
                if row.preferred_read_replica >= 0 and not row.records:
                    self._replica = row.preferred_read_replica
                    if not patience.is_over:
                        continue
                if row.error_code == Code.NONE:
                    return _answer(row, frame)
                reason = self._refusal(code_of(row.error_code))
            if not patience.pause():
                raise reason
            self._moved()

    # One attempt

    def _leader(self) -> Leader | None:
        return self._broker.metadata.leaders.get((self._topic, self._partition))

    def _leader_now(self) -> Leader:
        found = self._broker.leaders([(self._topic, self._partition)])
        for leader in found.values():
            return leader
        raise PartitionRefused(Code.LEADER_NOT_AVAILABLE, self._topic, self._partition, "Fetch of")

    def _moved(self) -> None:
        """Forget the leader, so that the next attempt looks it up again."""
        self._replica = None
        self._is_asked = False
        self._broker.metadata.forget_leader(self._topic, self._partition)

    def _send(self, leader: Leader) -> None:
        node_id = leader.node_id if self._replica is None else self._replica
        connection = self._connection_to(node_id)
        topic_id = self._broker.metadata.topic_id(self._topic)
        highest = LAST_BY_NAME if topic_id == ZERO_UUID else None
        version = connection.version(Api.FETCH, LOWEST_VERSION, highest)
        connection.send(self._request(leader, topic_id), version)
        self._is_asked = True

    def _connection_to(self, node_id: int) -> Connection:
        address = self._broker.address(node_id)
        if self._connection is None or not self._connection.is_open or self._connection.address != address:
            if self._connection is not None:
                self._connection.close()
            self._connection = Connection(address, self._settings)
        return self._connection

    def _request(self, leader: Leader, topic_id: bytes) -> FetchRequest:
        settings = self._settings
        row = FetchRequest.Topic.Partition(
            partition=self._partition,
            current_leader_epoch=leader.epoch,
            fetch_offset=self._offset,
            partition_max_bytes=settings.max_partition_fetch_bytes,
        )
        return FetchRequest(
            max_wait_ms=settings.fetch_max_wait_ms,
            min_bytes=settings.fetch_min_bytes,
            max_bytes=settings.fetch_max_bytes,
            isolation_level=ISOLATION_LEVELS.index(self._isolation_level),
            topics=[FetchRequest.Topic(topic=self._topic, topic_id=topic_id, partitions=[row])],
            rack_id=settings.client_rack,
        )

    def _receive(self) -> tuple[FetchResponse.Topic.Partition, bytearray]:
        assert self._connection is not None
        response, frame = self._connection.receive_with_frame()
        self._is_asked = False
        answer = cast(FetchResponse, response)
        if answer.error_code != Code.NONE:
            raise PartitionRefused(code_of(answer.error_code), self._topic, self._partition, "Fetch of")
        for topic in answer.responses:
            for row in topic.partitions:
                if row.partition_index == self._partition:
                    return row, frame
        raise PartitionRefused(Code.UNKNOWN_SERVER_ERROR, self._topic, self._partition, "no response for")

    def _refusal(self, code: Code) -> Exception:
        """Return the error to raise if the timeout expires. If the error is permanent, raise it now."""
        if code == Code.OFFSET_OUT_OF_RANGE:
            out_of_range = self.out_of_range()
            if self._replica is None and not self._is_in(out_of_range):
                raise out_of_range
            return out_of_range
        refused = PartitionRefused(code, self._topic, self._partition, f"Fetch at offset {self._offset} of")
        if code not in PASSING:
            raise refused
        return refused

    def _is_in(self, found: OffsetOutOfRange) -> bool:
        """Return whether the log contains the offset after all: it may just have been written, or only the broker of
        the request may have lacked it.
        """
        return found.log_start_offset <= self._offset <= found.log_end_offset

    def out_of_range(self) -> OffsetOutOfRange:
        """Return an error with the last requested offset and the log's current range of offsets."""
        key = self._topic, self._partition
        log_start_offset = self._broker.list_offsets({key: EARLIEST})[key].offset
        log_end_offset = self._broker.list_offsets({key: LATEST}, self._isolation_level)[key].offset
        return OffsetOutOfRange(*key, self._offset, log_start_offset, log_end_offset)


def _answer(row: FetchResponse.Topic.Partition, frame: bytearray) -> FetchAnswer:
    records = cast(Buffer | None, row.records)
    start = 0
    if records:
        start = _address(records) - _address(frame)
    return FetchAnswer(
        frame,
        start,
        start + len(records or b""),
        [(each.producer_id, each.first_offset) for each in row.aborted_transactions or ()],
        row.high_watermark,
        row.last_stable_offset,
        row.log_start_offset,
    )


def _address(buffer: Buffer) -> int:
    """Return the memory address of a buffer. It is needed because a memoryview does not expose its offset in the
    underlying buffer."""
    address: int = np.frombuffer(buffer, np.uint8).__array_interface__["data"][0]
    return address
