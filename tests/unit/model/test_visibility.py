"""What consumers see in any history of producers, transactions, groups, deletions, restarts and failovers.

The model is a list of entries a partition and a dict of offsets a group. After every step: read_uncommitted gives all
entries; read_committed those before the last stable offset whose transactions were not aborted; the last stable offset
is where the first open transaction begins; a group's offsets are those that were committed to it, and offsets of an
open transaction are unstable for requests that want stable ones. Requests of zombies, fenced producers and removed
members are refused and change nothing.
"""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.build import build_batch, numbered
from tests.profile import examples

from .members import SESSION_MS, ClassicMember, ConsumerMember, Member, commit, committed
from .producers import TIMEOUT_MS, TOPIC, Committed, Producer, Transaction
from .reader import READ_COMMITTED, READ_UNCOMMITTED, read
from .stage import Stage

PARTITIONS = (0, 1)
NAMES = ("one", "two", "three")
GROUPS = ("simple", "classic", "consumer")
CHECK_PERIOD_MS = 10_000
"""How often Kafka looks for transactions whose time is up."""

indexes = st.sampled_from(PARTITIONS)
names = st.sampled_from(NAMES)
groups = st.sampled_from(GROUPS)
counts = st.integers(1, 3)
offsets = st.integers(0, 50)
fraction = st.floats(0, 1)


class Entry:
    """A record of the model; a marker has no value."""

    def __init__(self, value: bytes | None, transaction: Transaction | None) -> None:
        self.value, self.transaction = value, transaction

    @property
    def is_open(self) -> bool:
        return self.transaction is not None and self.transaction.committed is None

    @property
    def is_aborted(self) -> bool:
        return self.transaction is not None and self.transaction.committed is False


class Visibility(RuleBasedStateMachine):
    histories = 0
    steps = 0

    @initialize(brokers=st.sampled_from([1, 1, 3]))
    def begin(self, brokers: int) -> None:
        self.stage = Stage(
            brokers,
            **{
                "offsets.topic.num.partitions": "2",
                "transaction.state.log.num.partitions": "2",
                "log.segment.bytes": str(1 << 20),
                "group.initial.rebalance.delay.ms": "0",
            },
        )
        self.stage.cluster.topic(TOPIC).create(len(PARTITIONS), replication_factor=brokers)
        for key_type in (0, 1):  # creates the internal topics while all brokers run
            self.stage.coordinator("anybody", key_type)
        self.logs: dict[int, list[Entry]] = {index: [] for index in PARTITIONS}
        self.starts = dict.fromkeys(PARTITIONS, 0)
        self.offsets: dict[str, dict[int, Committed]] = {group: {} for group in GROUPS}
        self.producers: dict[str, Producer] = {}
        self.fenced: set[str] = set()
        self.zombies: list[Producer] = []
        self.members: dict[str, Member] = {}
        self.gone: list[Member] = []
        self.counter = 0
        self.begun_ms: dict[str, int] = {}
        type(self).histories += 1

    def teardown(self) -> None:
        if hasattr(self, "stage"):
            self.stage.close()

    # Records

    def _values(self, count: int) -> list[bytes]:
        self.counter += count
        return [b"value %d" % number for number in range(self.counter - count, self.counter)]

    @rule(index=indexes, count=counts)
    def produce_plainly(self, index: int, count: int) -> None:
        values = self._values(count)
        batch = build_batch(numbered((self.stage.clock.now_ms(), None, value, ()) for value in values))
        answer = self.stage.ask(
            Api.PRODUCE,
            9,
            self.stage.leader(TOPIC, index),
            transactional_id=None,
            acks=-1,
            timeout_ms=1000,
            topic_data=[{"name": TOPIC, "partition_data": [{"index": index, "records": batch}]}],
        )
        [result] = answer["responses"][0]["partition_responses"]
        assert (result["error_code"], result["base_offset"]) == (0, len(self.logs[index]))
        self.logs[index] += [Entry(value, None) for value in values]

    @rule(index=indexes, part=fraction)
    def delete_records(self, index: int, part: float) -> None:
        log = self.logs[index]
        to = self.starts[index] + round((len(log) - self.starts[index]) * part)
        if any(entry.is_open for entry in log[:to]):
            return  # the last stable offset then depends on the release, which the recorded transcripts cover
        answer = self.stage.ask(
            Api.DELETE_RECORDS,
            2,
            self.stage.leader(TOPIC, index),
            topics=[{"name": TOPIC, "partitions": [{"partition_index": index, "offset": to}]}],
            timeout_ms=1000,
        )
        assert answer["topics"][0]["partitions"][0]["error_code"] == 0
        self.starts[index] = to

    # Transactions

    @rule(name=names, epoch_each=st.booleans())
    def init_producer(self, name: str, epoch_each: bool) -> None:
        before = self.producers.get(name)
        if before is not None:
            self._close(before.transaction, committed=False)
            before.transaction = None
            self.zombies.append(before)
        self.producers[name] = Producer(self.stage, name, epoch_each=epoch_each)
        self.fenced.discard(name)

    def _usable(self, name: str) -> Producer | None:
        return None if name in self.fenced else self.producers.get(name)

    @rule(name=names, index=indexes, count=counts)
    def produce_in_transaction(self, name: str, index: int, count: int) -> None:
        producer = self._usable(name)
        if producer is None:
            return
        values = self._values(count)
        self._note_begin(name, producer)
        code, offset = producer.produce(index, values, self.stage.clock.now_ms())
        assert (code, offset) == (0, len(self.logs[index])), Code(code).name
        transaction = producer.begin()
        transaction.partitions.add(index)
        self.logs[index] += [Entry(value, transaction) for value in values]

    @rule(name=names)
    def produce_again(self, name: str) -> None:
        """A duplicate, as after a lost response, gets the offset of the original."""
        producer = self._usable(name)
        if producer is None or producer.last_batch is None or producer.transaction is None:
            return
        index, batch, offset = producer.last_batch
        if index in producer.transaction.partitions and producer.sequences.get(index):
            assert producer.send(index, batch) == (0, offset)

    @rule(name=names, group=groups, index=indexes, offset=offsets)
    def commit_in_transaction(self, name: str, group: str, index: int, offset: int) -> None:
        producer = self._usable(name)
        if producer is None or group != "simple":
            return
        self._note_begin(name, producer)
        code = producer.commit_offset(group, index, offset)
        assert code == 0, Code(code).name
        producer.begin().offsets[group, index] = self._written(offset)

    def _note_begin(self, name: str, producer: Producer) -> None:
        if producer.transaction is None:
            self.begun_ms[name] = self.stage.clock.now_ms()

    @rule(name=names, commits=st.booleans())
    def end(self, name: str, commits: bool) -> None:
        producer = self._usable(name)
        if producer is None or producer.transaction is None:
            return
        transaction = producer.transaction
        code = producer.end(commits)
        assert code == 0, Code(code).name
        self.stage.settle()
        self._close(transaction, committed=commits)

    @rule(name=names)
    def end_again(self, name: str) -> None:
        producer = self._usable(name)
        if producer is not None and producer.transaction is None and producer.last_end is not None:
            code = producer.end_again(producer.last_end[1])
            assert code == 0, Code(code).name

    def _close(self, transaction: Transaction | None, *, committed: bool) -> None:
        """End a transaction in the model: append a marker to each of its partitions, and apply or drop its offsets."""
        if transaction is None:
            return
        transaction.committed = committed
        for index in transaction.partitions:
            self.logs[index].append(Entry(None, None))
        if committed:
            for (group, index), sent in transaction.offsets.items():
                known = self.offsets[group].get(index)
                if known is None or known.written < sent.written:
                    self.offsets[group][index] = sent

    def _written(self, offset: int) -> Committed:
        self.counter += 1
        return Committed(self.counter, offset)

    @precondition(lambda self: self.zombies or self.fenced)
    @rule(index=indexes, choice=fraction, deed=st.sampled_from(["produce", "commit an offset", "commit", "abort"]))
    def zombie(self, index: int, choice: float, deed: str) -> None:
        zombies = [*self.zombies, *(self.producers[name] for name in sorted(self.fenced))]
        zombie = zombies[int(choice * (len(zombies) - 1))]
        zombie.transaction = Transaction()
        if deed == "produce":
            code, _ = zombie.produce(index, [b"from the dead"], self.stage.clock.now_ms())
        elif deed == "commit an offset":
            code = zombie.commit_offset("simple", index, 999)
        else:
            code = zombie.end(committed=deed == "commit")
        if code == 0 and deed == "abort" and zombie.epoch_each and self.producers[zombie.transactional_id] is zombie:
            # The coordinator has aborted it. The request looks like a repeated one, and the response has the new epoch
            # (`retryOnEpochBump` in TransactionCoordinator).
            self.fenced.remove(zombie.transactional_id)
            return
        assert code in FENCED, (deed, Code(code).name)

    # Groups

    @rule(index=indexes, offset=offsets)
    def commit_simply(self, index: int, offset: int) -> None:
        assert commit(self.stage, "simple", index, offset) == 0
        self.offsets["simple"][index] = self._written(offset)

    @rule(group=st.sampled_from(["classic", "consumer"]))
    def join(self, group: str) -> None:
        if group in self.members:
            return
        self.counter += 1
        kind = ClassicMember if group == "classic" else ConsumerMember
        member = kind(self.stage, group, self.counter)
        code = member.join()
        assert code == 0, Code(code).name
        self.members[group] = member

    @rule(group=st.sampled_from(["classic", "consumer"]))
    def leave(self, group: str) -> None:
        if group in self.members:
            member = self.members.pop(group)
            code = member.leave()
            assert code == 0, Code(code).name
            self.gone.append(member)

    @rule(group=st.sampled_from(["classic", "consumer"]), index=indexes, offset=offsets)
    def commit_as_member(self, group: str, index: int, offset: int) -> None:
        if group in self.members:
            code = self.members[group].commit(index, offset)
            assert code == 0, Code(code).name
            self.offsets[group][index] = self._written(offset)

    @rule(group=st.sampled_from(["classic", "consumer"]), index=indexes, by=st.sampled_from([-1, 1]))
    def commit_in_another_epoch(self, group: str, index: int, by: int) -> None:
        if group in self.members:
            member = self.members[group]
            epoch = member.epoch + by
            if epoch > 0:
                code = member.commit(index, 999, epoch)
                assert code in (Code.ILLEGAL_GENERATION, Code.STALE_MEMBER_EPOCH), Code(code).name

    @precondition(lambda self: self.gone)
    @rule(index=indexes, choice=fraction)
    def commit_of_the_gone(self, index: int, choice: float) -> None:
        member = self.gone[int(choice * (len(self.gone) - 1))]
        code = member.commit(index, 999)
        assert code in (Code.UNKNOWN_MEMBER_ID, Code.ILLEGAL_GENERATION), Code(code).name
        assert member.heartbeat() in (Code.UNKNOWN_MEMBER_ID, Code.GROUP_ID_NOT_FOUND, Code.ILLEGAL_GENERATION)

    # Time and failures

    @rule(ms=st.sampled_from([100, 5_000, 20_000]))
    def advance(self, ms: int) -> None:
        """The members send heartbeats before the time advances."""
        for member in self.members.values():
            code = member.heartbeat()
            assert code == 0, Code(code).name
        self.stage.advance(ms)
        self._abort_what_is_late()

    @rule()
    def expire_everything(self) -> None:
        """Advance the time until sessions have expired and transactions were aborted."""
        self.stage.advance(max(SESSION_MS, TIMEOUT_MS) + 2 * CHECK_PERIOD_MS)
        self.gone += self.members.values()
        self.members.clear()
        self._abort_what_is_late()

    def _abort_what_is_late(self) -> None:
        for name, producer in self.producers.items():
            open_ms = self.stage.clock.now_ms() - self.begun_ms.get(name, 0)
            if producer.transaction is None or open_ms < TIMEOUT_MS:
                continue
            if open_ms < TIMEOUT_MS + 2 * CHECK_PERIOD_MS:  # the next check decides
                self.stage.advance(2 * CHECK_PERIOD_MS)
            self._close(producer.transaction, committed=False)
            producer.transaction = None
            self.fenced.add(name)

    @rule()
    def restart(self) -> None:
        for node in range(1, self.stage.brokers + 1):
            if node not in self.stage.alive:
                self.stage.start_broker(node)
        self.stage.restart()

    @precondition(lambda self: self.stage.brokers > 1)
    @rule(node=st.integers(1, 3))
    def stop_or_start_a_broker(self, node: int) -> None:
        if node not in self.stage.alive:
            self.stage.start_broker(node)
        elif len(self.stage.alive) > 2:
            self.stage.stop_broker(node)

    # What must hold

    @invariant()
    def consumers_see_what_they_must(self) -> None:
        if not hasattr(self, "stage"):
            return
        type(self).steps += 1
        for index, log in self.logs.items():
            start = self.starts[index]
            there = [(offset, entry) for offset, entry in enumerate(log) if offset >= start and entry.value is not None]
            everything = read(self.stage, TOPIC, index, READ_UNCOMMITTED, start)
            assert everything.values == [(offset, entry.value) for offset, entry in there]
            assert everything.high_watermark == len(log)
            stable = next((offset for offset, entry in enumerate(log) if entry.is_open), len(log))
            assert everything.last_stable_offset == stable
            decided = read(self.stage, TOPIC, index, READ_COMMITTED, start)
            wanted = [(offset, entry.value) for offset, entry in there if offset < stable and not entry.is_aborted]
            assert decided.values == wanted

    @invariant()
    def groups_have_what_was_committed(self) -> None:
        if not hasattr(self, "stage"):
            return
        for group, entries in self.offsets.items():
            known = {index: entry.offset for index, entry in entries.items()}
            assert committed(self.stage, group, stable=False) == known
            pending: dict[int, Any] = {
                index: Code.UNSTABLE_OFFSET_COMMIT
                for producer in self.producers.values()
                if producer.transaction is not None
                for name, index in producer.transaction.offsets
                if name == group
            }
            assert committed(self.stage, group, stable=True) == known | pending


FENCED = {
    Code.INVALID_PRODUCER_EPOCH,
    Code.PRODUCER_FENCED,
    Code.INVALID_PRODUCER_ID_MAPPING,
    Code.INVALID_TXN_STATE,
    Code.TRANSACTION_ABORTABLE,
    Code.OUT_OF_ORDER_SEQUENCE_NUMBER,
}


def test_any_history_agrees_with_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    Visibility.histories = Visibility.steps = 0
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Visibility,
        settings=settings(
            max_examples=examples(0.25),
            stateful_step_count=30,
            suppress_health_check=list(HealthCheck),
        ),
    )
    with capsys.disabled():
        print(f"\n{Visibility.histories} histories of what consumers see, {Visibility.steps} steps in all")
    assert Visibility.histories
