"""Reading a partition as a client does: batch by batch, dropping markers, and aborted records under read_committed."""

from typing import Any, NamedTuple

from kafkalet.protocol.api import Api
from kafkalet.protocol.records.batch import batches
from kafkalet.protocol.records.control import ControlType, control_type

from .stage import Stage

READ_UNCOMMITTED, READ_COMMITTED = 0, 1


class Fetched(NamedTuple):
    """The records and offsets that a consumer received."""

    values: list[tuple[int, bytes]]
    """Offsets and values, in order."""
    high_watermark: int
    last_stable_offset: int


def read(stage: Stage, topic: str, index: int, isolation: int, offset: int = 0) -> Fetched:
    """Read from `offset`, or from the log start if it is larger, to the end."""
    values: list[tuple[int, bytes]] = []
    while True:
        result = _fetch(stage, topic, index, isolation, offset)
        aborted = {(entry["producer_id"], entry["first_offset"]) for entry in result["aborted_transactions"] or ()}
        before, given_up = offset, set[int]()
        for batch in batches(bytes(result["records"] or b"")):
            for producer_id, first in sorted(aborted):
                if first <= batch.last_offset:
                    given_up.add(producer_id)
                    aborted.discard((producer_id, first))
            records = batch.records()
            if batch.is_control:
                if control_type(records[0]) is ControlType.ABORT:
                    given_up.discard(batch.producer_id)
            elif not (isolation and batch.is_transactional and batch.producer_id in given_up):
                values += [(record.offset, bytes(record.value or b"")) for record in records if record.offset >= before]
            offset = batch.next_offset
        if offset == before:
            return Fetched(values, result["high_watermark"], result["last_stable_offset"])


def _fetch(stage: Stage, topic: str, index: int, isolation: int, offset: int) -> Any:
    partition = {
        "partition": index,
        "fetch_offset": offset,
        "partition_max_bytes": 600,
        "current_leader_epoch": -1,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
    }
    answer = stage.ask(
        Api.FETCH,
        12,
        stage.leader(topic, index),
        replica_id=-1,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        isolation_level=isolation,
        session_epoch=-1,
        topics=[{"topic": topic, "partitions": [partition]}],
        forgotten_topics_data=[],
    )
    [result] = answer["responses"][0]["partitions"]
    assert result["error_code"] == 0, result
    return result
