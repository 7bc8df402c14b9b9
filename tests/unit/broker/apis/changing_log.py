"""A log that tests change at random, to compare two ways of serving requests for it."""

from itertools import count
from typing import Any

from hypothesis import strategies as st

from kafkalet import Cluster
from kafkalet.broker.cluster.partition import Partition
from kafkalet.protocol.records.control import ControlType, EndMarker, build_end_marker
from kafkalet.storage.values import Origin
from tests.wire.brokers import batch

TOPICS = count()
CHANGES = st.one_of(
    st.tuples(st.just("append"), st.lists(st.sampled_from([0, 100, 900, 5000]), min_size=1, max_size=3)),
    st.tuples(st.just("transaction"), st.sampled_from([100, 900])),
    st.tuples(st.just("end"), st.sampled_from([ControlType.ABORT, ControlType.COMMIT])),
    st.tuples(st.just("delete"), st.floats(0, 1)),
    st.tuples(st.just("truncate"), st.floats(0, 1)),
    st.tuples(st.just("elect"), st.none()),
)
"""The steps of `Log.change`, with their values."""


class Log:
    """A new topic with one partition, which is changed and read in the thread of the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.topic = f"t{next(TOPICS)}"
        cluster.topic(self.topic).create(1, assignments=[[1]])
        self.sequence = 0

    @property
    def leader(self) -> Partition:
        return self.cluster._server.leadership.leader_of(self.topic, 0)

    def append(self, *sizes: int) -> None:
        self.leader.append(batch(*(b"x" * size for size in sizes)))

    def append_transaction(self, size: int) -> None:
        producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": self.sequence, "is_transactional": True}
        self.sequence += 1
        self.leader.append(batch(b"t" * size, **producer))

    def end_transaction(self, control_type: ControlType) -> None:
        marker = build_end_marker(EndMarker(control_type, 0), timestamp=1000, producer_id=7, producer_epoch=0)
        self.leader.append(bytearray(marker), Origin.COORDINATOR)

    def change(self, step: str, value: Any) -> None:
        """Perform a step of the property test, if it is possible now."""
        leader = self.leader
        log = leader.log
        span = log.high_watermark - log.log_start_offset
        match step:
            case "append":
                self.append(*value)
            case "transaction":
                self.append_transaction(value)
            case "end" if log.has_open_transaction(7):
                self.end_transaction(value)
            case "delete":
                leader.delete_records(log.log_start_offset + int(value * span))
            case "truncate" if not log.has_open_transaction(7):
                leader.truncate(log.log_start_offset + int(value * span))
                self.append(100)
                producer = log.producer(7)
                self.sequence = 0 if producer is None else producer.last_sequence + 1
            case "elect":
                leader.state.change_leader(1)
