"""Transactional producers: their state and their requests, in both transaction versions of KIP-890."""

from typing import Any, NamedTuple

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.build import build_batch, numbered

from .stage import Stage

TOPIC = "t"
TIMEOUT_MS = 60_000
NOT_YET = (Code.CONCURRENT_TRANSACTIONS, Code.NOT_COORDINATOR, Code.COORDINATOR_LOAD_IN_PROGRESS)
ATTEMPTS = 10


class Committed(NamedTuple):
    """An offset, and the time at which it was written. Of two offsets, the one that was written later is valid, even if
    its transaction ended earlier.
    """

    written: int
    offset: int


class Transaction:
    """The partitions and offsets of one transaction, and its result."""

    def __init__(self) -> None:
        self.partitions: set[int] = set()
        self.offsets: dict[tuple[str, int], Committed] = {}
        self.committed: bool | None = None


class Producer:
    """A transactional id in use. With `epoch_each` (transaction version 2), every transaction has its own epoch."""

    def __init__(self, stage: Stage, transactional_id: str, *, epoch_each: bool) -> None:
        self.stage = stage
        self.transactional_id = transactional_id
        self.epoch_each = epoch_each
        self.transaction: Transaction | None = None
        self.last_end: tuple[dict[str, Any], bool] | None = None
        self.sequences: dict[int, int] = {}
        self.last_batch: tuple[int, bytes, int] | None = None
        answer = self._coordinator(
            Api.INIT_PRODUCER_ID,
            4,
            transactional_id=transactional_id,
            transaction_timeout_ms=TIMEOUT_MS,
            producer_id=-1,
            producer_epoch=-1,
        )
        assert answer["error_code"] == 0, answer
        self.producer_id, self.epoch = answer["producer_id"], answer["producer_epoch"]

    def begin(self) -> Transaction:
        """Return the open transaction, or begin one, as a client does implicitly."""
        if self.transaction is None:
            self.transaction = Transaction()
            self.last_end = None
        return self.transaction

    def produce(self, index: int, values: list[bytes], now_ms: int) -> tuple[int, int]:
        """Return the error code and the base offset."""
        self.begin()
        if not self.epoch_each and (code := self._add_partition(index)):
            return code, -1
        sequence = self.sequences.get(index, 0)
        batch = build_batch(
            numbered((now_ms, None, value, ()) for value in values),
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        code, offset = self.send(index, batch)
        if code == 0:
            self.sequences[index] = sequence + len(values)
            self.last_batch = (index, batch, offset)
        return code, offset

    def send(self, index: int, batch: bytes) -> tuple[int, int]:
        """Produce in the version that suits the transaction version. Repeat the request while the previous transaction
        is ending.
        """
        for _ in range(ATTEMPTS):
            answer = self.stage.ask(
                Api.PRODUCE,
                12 if self.epoch_each else 11,
                self.stage.leader(TOPIC, index),
                transactional_id=self.transactional_id,
                acks=-1,
                timeout_ms=1000,
                topic_data=[{"name": TOPIC, "partition_data": [{"index": index, "records": batch}]}],
            )
            [result] = answer["responses"][0]["partition_responses"]
            if result["error_code"] not in NOT_YET:
                break
            self.stage.settle()
        return result["error_code"], result["base_offset"]

    def _add_partition(self, index: int) -> int:
        answer = self._coordinator(
            Api.ADD_PARTITIONS_TO_TXN,
            3,
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[{"name": TOPIC, "partitions": [index]}],
        )
        [result] = answer["results_by_topic_v3_and_below"][0]["results_by_partition"]
        return int(result["partition_error_code"])

    def commit_offset(self, group: str, index: int, offset: int) -> int:
        """Commit an offset in the transaction, and return the error code."""
        self.begin()
        named = {
            "transactional_id": self.transactional_id,
            "group_id": group,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
        }
        if not self.epoch_each:
            code = int(self._coordinator(Api.ADD_OFFSETS_TO_TXN, 3, **named)["error_code"])
            if code:
                return code
        partition = {
            "partition_index": index,
            "committed_offset": offset,
            "committed_leader_epoch": -1,
            "committed_metadata": "",
        }
        for _ in range(ATTEMPTS):
            answer = self.stage.ask(
                Api.TXN_OFFSET_COMMIT,
                5 if self.epoch_each else 3,
                self.stage.coordinator(group, 0),
                **named,
                generation_id_or_member_epoch=-1,
                member_id="",
                group_instance_id=None,
                topics=[{"name": TOPIC, "partitions": [partition]}],
            )
            code = int(answer["topics"][0]["partitions"][0]["error_code"])
            if code not in NOT_YET:
                break
            self.stage.settle()
        return code

    def end(self, committed: bool) -> int:
        """End the transaction, and return the error code."""
        asked = {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
        }
        code = self._end(asked, committed)
        if code == 0:
            self.last_end, self.transaction = (asked, committed), None
        return code

    def end_again(self, committed: bool) -> int:
        """Repeat the request that ended the last transaction, or send the opposite one."""
        assert self.last_end is not None
        return self._end(self.last_end[0], committed)

    def _end(self, asked: dict[str, Any], committed: bool) -> int:
        answer = self._coordinator(Api.END_TXN, 5 if self.epoch_each else 3, **asked, committed=committed)
        if answer["error_code"] == 0 and self.epoch_each:
            if answer["producer_epoch"] != self.epoch or answer["producer_id"] != self.producer_id:
                self.sequences.clear()
            self.producer_id, self.epoch = answer["producer_id"], answer["producer_epoch"]
        return int(answer["error_code"])

    def _coordinator(self, api: Api, version: int, **fields: Any) -> Any:
        """Send a request to the coordinator. Repeat it while the coordinator is ending the last transaction."""
        for _ in range(ATTEMPTS):
            node = self.stage.coordinator(self.transactional_id, 1)
            answer = self.stage.ask(api, version, node, **fields)
            if not any(code in NOT_YET for code in _codes(answer)):
                break
            self.stage.settle()
        return answer


def _codes(answer: Any) -> list[int]:
    """Every error code in a response."""
    if isinstance(answer, list):
        return [code for item in answer for code in _codes(item)]
    if isinstance(answer, dict):
        own = [value for name, value in answer.items() if name.endswith("error_code")]
        return own + [code for value in answer.values() for code in _codes(value)]
    return []
