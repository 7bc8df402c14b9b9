"""The transactions of the test kit: the state of a transactional id, and transactions without a client.

Both use the transaction coordinator as a client does, so fencing, the last stable offset, markers and
__transaction_state behave as for a real transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from kafkalet.broker import arguments
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.build import build_batch
from kafkalet.suggestions import did_you_mean

from .lag import Place
from .record import HeaderPairs, NewRecord, Record, Text, Time
from .waiting import timeout_s, wait

if TYPE_CHECKING:
    from kafkalet.broker.coordinators import Coordinators
    from kafkalet.broker.transactions.coordinator import Result, TransactionCoordinator
    from kafkalet.broker.transactions.decisions import Producer
    from kafkalet.broker.views import TransactionView
    from kafkalet.embedded import EmbeddedCluster
    from kafkalet.tasks.delayed import Delayed

    from .topic import Topic

TRANSACTION_STATE = "__transaction_state"
STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead")
RETRIED = (Code.CONCURRENT_TRANSACTIONS, Code.COORDINATOR_NOT_AVAILABLE, Code.NOT_COORDINATOR)


class Transaction:
    """The transaction of a transactional id. It need not exist. Each access to an attribute reads its current value.

    Apart from `state`, attributes raise KafkaError with TRANSACTIONAL_ID_NOT_FOUND if no producer has used the id. All
    raise KafkaError with COORDINATOR_NOT_AVAILABLE if the broker that coordinates it is stopped.
    """

    def __init__(self, cluster: EmbeddedCluster, transactional_id: str) -> None:
        self._cluster = cluster
        self.transactional_id = transactional_id

    def __repr__(self) -> str:
        try:
            known = self.describe()
        except (KafkaError, RuntimeError) as error:
            return f"<transaction {self.transactional_id}: {error}>"
        return f"<transaction {_shown(known)}>"

    def describe(self) -> TransactionView:
        """Return all attributes at one moment."""
        from .group import check_coordinator

        def look() -> TransactionView:
            check_coordinator(self._cluster, TRANSACTION_STATE, self.transactional_id)
            return self._cluster._server.transactions.view(self.transactional_id)

        return self._cluster._server.call(look)

    @property
    def state(self) -> str:
        """The state: Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit or CompleteAbort.

        It is "Dead" if no producer has used the transactional id.
        """
        try:
            return self.describe().state
        except KafkaError as error:
            if error.code is Code.TRANSACTIONAL_ID_NOT_FOUND:
                return "Dead"
            raise

    @property
    def producer_id(self) -> int:
        """The producer id of the current producer."""
        return self.describe().producer_id

    @property
    def producer_epoch(self) -> int:
        """The epoch of the current producer. Producers with an older epoch are fenced."""
        return self.describe().producer_epoch

    @property
    def timeout_ms(self) -> int:
        """The time after which the coordinator aborts an open transaction, in milliseconds."""
        return self.describe().timeout_ms

    @property
    def partitions(self) -> list[Place]:
        """The partitions in the open transaction or, while it is being completed, the partitions without a marker."""
        return self.describe().partitions

    @property
    def started_ms(self) -> int:
        """The start time of the last transaction, in milliseconds since 1970, or -1 if there was none."""
        return self.describe().started_ms

    @property
    def coordinator(self) -> int:
        """The id of the broker that coordinates the transactional id."""
        return self.describe().coordinator

    def wait_until(self, state: str, timeout: float | None = None) -> Transaction:
        """Wait until the transaction is in this state, such as "CompleteCommit", and return it.

        Returns immediately if the transaction is already in this state. Raises AssertionError after `timeout`
        seconds (by default `cluster.timeout`), and ValueError for an unknown state.
        """
        __tracebackhide__ = True
        if arguments.text("state", state) not in STATES:
            hint = did_you_mean(state, STATES)
            allowed = ", ".join(STATES)
            raise ValueError(f"state is {state!r}; it must be one of {allowed}{'; ' if hint else ''}{hint}")

        def failure() -> str:
            seconds = timeout_s(self._cluster, timeout)
            return f"transaction {self.transactional_id}: waited {seconds:g} s for {state}: {self!r}"

        def look() -> bool | None:
            try:
                return self.state == state or None
            except KafkaError as error:
                if error.code is Code.COORDINATOR_NOT_AVAILABLE:
                    return None  # until the coordinator starts again
                raise

        wait(self._cluster, look, timeout, failure)
        return self

    def abort(self, timeout: float | None = None) -> Transaction:
        """Abort the open transaction, as the coordinator does after its timeout, and wait for its markers.

        The producer is fenced. Raises KafkaError with INVALID_TXN_STATE if no transaction is open.
        """
        __tracebackhide__ = True
        requests = _Coordination(self._cluster, self.transactional_id, timeout)
        code = requests.ask(lambda coordinator: coordinator.fence(self.transactional_id)).code
        if code is Code.INVALID_TXN_STATE:
            raise KafkaError(code, f"{self!r} is not open, so it cannot be aborted")
        if code is Code.INVALID_PRODUCER_ID_MAPPING:
            raise KafkaError(Code.TRANSACTIONAL_ID_NOT_FOUND, f"there is no transactional id {self.transactional_id}")
        _check(code, f"{self!r} cannot be aborted")
        requests.wait_until_complete()
        return self


class OpenTransaction:
    """A transaction without a client. Use it in a `with` statement, which commits or aborts it at the end."""

    def __init__(self, cluster: EmbeddedCluster, transactional_id: str, timeout: float) -> None:
        self._cluster = cluster
        self.transactional_id = transactional_id
        self._timeout_ms = round(timeout * 1000)
        self._requests = _Coordination(cluster, transactional_id, None)
        self._producer: Producer | None = None
        self._topics: dict[str, Topic] = {}
        self._sequences: dict[Place, int] = {}
        self._is_empty = True

    def __repr__(self) -> str:
        return repr(Transaction(self._cluster, self.transactional_id))

    def __enter__(self) -> Self:
        __tracebackhide__ = True
        from kafkalet.broker.transactions.decisions import Producer

        if self._producer is not None:
            raise RuntimeError(f"transaction {self.transactional_id} is already open")
        name, timeout_ms = self.transactional_id, self._timeout_ms
        result = self._requests.ask(lambda coordinator: coordinator.init_producer_id(name, timeout_ms, None))
        _check(result.code, f"transaction {name} cannot begin")
        self._producer = Producer(result.producer_id, result.producer_epoch)
        self._sequences.clear()
        self._is_empty = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        if self._producer is None:  # ended inside the block
            return
        if error is None:
            self.commit()
            return
        try:
            self.abort()
        except (KafkaError, AssertionError, RuntimeError) as problem:
            error.add_note(f"kafkalet could not abort transaction {self.transactional_id}: {problem}")

    def send(
        self,
        topic: str,
        value: Text | None,
        key: Text | None = None,
        headers: HeaderPairs | None = None,
        timestamp: Time | None = None,
        partition: int | None = None,
    ) -> Record:
        """Append a record in the transaction, and return it. The arguments are those of `Topic.send`.

        Raises KafkaError with PRODUCER_FENCED if another producer has begun a transaction with this id, and with the
        code that a producer would get otherwise.
        """
        __tracebackhide__ = True
        from .topic import Appended, Topic, outgoing

        producer = self._open()
        if topic not in self._topics:
            self._topics[topic] = Topic(self._cluster, arguments.text("topic", topic))
        new = outgoing([NewRecord(value, key, headers, timestamp, partition)])
        [(index, records)] = self._topics[topic]._encode(new)[0].items()
        place = (topic, index)
        self._add(place)
        sequence = self._sequences.get(place, 0)
        batch = build_batch(
            records,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=sequence,
            is_transactional=True,
        )

        def append() -> Appended:
            leader = self._cluster._server.leadership.leader_of(*place)
            leader.check_replicas()
            raises_epoch = self._requests.transaction_version() >= EPOCH_PER_TRANSACTION
            guard = leader.start_verification(*producer, sequence, raises_epoch=raises_epoch)
            appended = leader.produce(bytearray(batch), guard)
            return Appended(appended.first_offset, appended.log_append_time_ms)

        appended = self._cluster._server.call(append)
        self._sequences[place] = sequence + len(records)
        return self._topics[topic]._sent(index, records[0], appended)

    def send_offsets(self, group_id: str, offsets: Mapping[Place, int]) -> OpenTransaction:
        """Add offsets of a consumer group, keyed by (topic, partition), to the transaction. They are committed
        with it.
        """
        __tracebackhide__ = True
        from kafkalet.broker.cluster.state_topics import CONSUMER_OFFSETS, partition_of
        from kafkalet.broker.groups.administration import add_offsets_to_transaction

        from .group import shard_of

        producer = self._open()
        checked = _checked_offsets(arguments.text("the id of a group", group_id), offsets)
        server = self._cluster._server

        def place() -> Place:
            for topic, partition in checked:
                server.metadata.existing_partition(topic, partition)
            state = server.controller.state_topic(CONSUMER_OFFSETS)
            return state.name, partition_of(group_id, len(state.partitions))

        self._add(server.call(place))

        def append() -> None:
            add_offsets_to_transaction(shard_of(self._cluster, group_id), group_id, checked, *producer)

        server.call(append)
        return self

    def commit(self) -> None:
        """Commit the transaction, and wait until all markers are written."""
        __tracebackhide__ = True
        self._end(committed=True)

    def abort(self) -> None:
        """Abort the transaction, and wait until all markers are written."""
        __tracebackhide__ = True
        self._end(committed=False)

    def _open(self) -> Producer:
        if self._producer is None:
            raise RuntimeError(
                f"transaction {self.transactional_id} is not open; use it inside `with kafka.open_transaction(...)`, "
                "before commit() or abort()"
            )
        return self._producer

    def _add(self, place: Place) -> None:
        """Add a partition to the transaction."""
        __tracebackhide__ = True
        from kafkalet.broker.transactions.coordinator import Result

        producer, name = self._open(), self.transactional_id
        result = self._requests.ask(
            lambda coordinator: coordinator.add_partitions(
                name, producer, [place], coordinator.transaction_version
            ).map(Result)
        )
        _check(result.code, f"{place[0]}-{place[1]} cannot be added to transaction {name}")
        self._is_empty = False

    def _end(self, *, committed: bool) -> None:
        __tracebackhide__ = True
        from kafkalet.broker.transactions.decisions import End

        producer, name = self._open(), self.transactional_id
        self._producer = None
        if self._is_empty:  # like a client, which then sends no EndTxn
            return
        result = self._requests.ask(
            lambda coordinator: coordinator.end_transaction(
                name, End(*producer, committed, coordinator.transaction_version)
            )
        )
        _check(result.code, f"transaction {name} cannot be {'committed' if committed else 'aborted'}")
        self._requests.wait_until_complete()


EPOCH_PER_TRANSACTION = 2
"""From this transaction version on, each transaction has its own epoch (KIP-890)."""


def transactional_ids(cluster: EmbeddedCluster) -> list[str]:
    """Return all transactional ids. Runs in the event loop."""
    brokers = cluster._server.brokers.values()
    return [each.transactional_id for broker in brokers for each in broker.coordinators.loaded_transactions()]


class _Coordination:
    """Requests to the coordinator of a transactional id. They block the caller's thread."""

    def __init__(self, cluster: EmbeddedCluster, transactional_id: str, timeout: float | None) -> None:
        self._cluster = cluster
        self._transactional_id = transactional_id
        self._timeout = timeout

    def ask(self, start: Callable[[TransactionCoordinator], Delayed[Result]]) -> Result:
        """Call `start` with the coordinator, and return the result. While the coordinator is busy or missing, repeat
        the call after each change of the cluster.
        """
        __tracebackhide__ = True
        results: list[Result] = []
        is_waiting = False

        def begin() -> None:
            nonlocal is_waiting
            coordinators = self._coordinators()
            if coordinators is not None:
                asked = start(coordinators.transactions)
                is_waiting = asked.is_waiting
                asked.then(end_wait if is_waiting else results.append)

        def end_wait(result: Result) -> None:
            nonlocal is_waiting
            results.append(result)
            is_waiting = False
            self._cluster._server.watchers.touch()

        def look() -> Result | None:
            if not is_waiting and not results:
                self._cluster._server.call(begin)
            if not results:
                return None
            result = results.pop()
            return None if result.code in RETRIED else result

        return wait(self._cluster, look, self._timeout, self._failure)

    def wait_until_complete(self) -> None:
        """Wait until the markers of the decided transaction are written."""
        __tracebackhide__ = True
        from kafkalet.broker.transactions.metadata import PREPARE_STATES

        def is_complete() -> bool:
            coordinators = self._coordinators()
            if coordinators is None:
                return False
            transaction = coordinators.transactions.find(self._transactional_id)
            return transaction is None or (
                transaction.metadata.state not in PREPARE_STATES and transaction.pending is None
            )

        wait(self._cluster, lambda: self._cluster._server.call(is_complete) or None, self._timeout, self._failure)

    def transaction_version(self) -> int:
        """Return the transaction version of the cluster."""
        node = next(iter(self._cluster._server.nodes.values()))
        return node.feature_level("transaction.version")

    def _coordinators(self) -> Coordinators | None:
        """Return the coordinators of the broker that coordinates the id, or None. Runs in the event loop."""
        from kafkalet.broker.cluster.state_topics import TRANSACTION_STATE, partition_of

        server = self._cluster._server
        topic = server.controller.state_topic(TRANSACTION_STATE)
        leader = topic.partitions[partition_of(self._transactional_id, len(topic.partitions))].leader
        broker = server.brokers.get(leader)
        return None if broker is None else broker.coordinators

    def _failure(self) -> str:
        seconds = timeout_s(self._cluster, self._timeout)
        shown = repr(Transaction(self._cluster, self._transactional_id))
        return f"transaction {self._transactional_id}: waited {seconds:g} s for the coordinator: {shown}"


REASONS = {
    Code.PRODUCER_FENCED: "; another producer with this id has fenced it",
    Code.INVALID_TRANSACTION_TIMEOUT: "; timeout_ms must be from 1 to the broker's transaction.max.timeout.ms",
}


def _check(code: Code, what: str) -> None:
    """Raise KafkaError unless the code is NONE."""
    if code is Code.NONE:
        return
    raise KafkaError(code, f"{what}{REASONS.get(code, '')}")


def _checked_offsets(group_id: str, offsets: Mapping[Place, int]) -> dict[Place, int]:
    if not isinstance(offsets, Mapping) or not offsets:
        raise TypeError(
            f'send_offsets takes a dict of offsets, as in {{("orders", 0): 5}}, not {arguments.shown(offsets)}'
        )
    checked = {}
    for place, offset in offsets.items():
        if not isinstance(place, tuple) or len(place) != 2:
            raise TypeError(f'a partition must be a tuple, as in ("orders", 0), not {arguments.shown(place)}')
        key = arguments.text("a topic", place[0]), arguments.number("a partition", place[1])
        if arguments.number("an offset", offset) < 0:
            raise ValueError(f"the offset of {place[0]}-{place[1]} for group {group_id} is {offset}; it is negative")
        checked[key] = offset
    return checked


def _shown(known: TransactionView) -> str:
    places = ", ".join(f"{topic}-{index}" for topic, index in known.partitions)
    return (
        f"{known.transactional_id}: {known.state}, producer id {known.producer_id}, epoch {known.producer_epoch}"
        f"{', partitions ' + places if places else ''}"
    )
