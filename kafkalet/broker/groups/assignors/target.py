"""The target of one member while an assignor makes it, with what has to be known of the Java maps and sets in it.

As long as nothing changes it is the old one. The first change copies it, as Kafka's assignors do: the copies' sizes
decide about the order of what ends up in them.

Source: org.apache.kafka.coordinator.group.assignor.AssignorHelpers.deepCopyAssignment.
"""

from .java_order import grown, order_of_numbers, order_of_uuids, ordered, set_of, uuid_hash, with_capacity
from .spec import Assignment


class Target:
    """Partitions by topic; `had` is what the member's target was before."""

    __slots__ = ("_slots", "_slots_of", "had", "is_copy", "partitions")

    def __init__(self, had: Assignment) -> None:
        self.had = had
        self.is_copy = False
        self.partitions: dict[bytes, dict[int, None]] = {}
        self._slots = 0
        self._slots_of: dict[bytes, int] = {}

    def copy(self) -> None:
        """Begin to differ from the old target."""
        if self.is_copy:
            return
        self.is_copy = True
        self._slots = with_capacity(len(self.had))
        for topic_id in order_of_uuids(self.had):
            self._slots = grown(len(self.partitions) + 1, self._slots)
            slots = self._slots_of[topic_id] = set_of(len(self.had[topic_id]))
            self.partitions[topic_id] = dict.fromkeys(order_of_numbers(self.had[topic_id], slots))

    def drop(self, topic_id: bytes) -> None:
        """Take a whole topic away."""
        self.copy()
        self.partitions.pop(topic_id, None)

    def remove(self, topic_id: bytes, partition: int) -> None:
        self.copy()
        partitions = self.partitions[topic_id]
        partitions.pop(partition, None)
        if not partitions:
            del self.partitions[topic_id]

    def add(self, topic_id: bytes, partition: int, capacity: int = 16) -> None:
        """Add a partition; the first one of a topic makes a set of that capacity."""
        self.copy()
        if len(self.partitions) > self._slots * 3 // 4:  # Map.computeIfAbsent grows before it looks, not afterwards
            self._slots *= 2
        partitions = self.partitions.get(topic_id)
        if partitions is None:
            partitions = {}
            self.partitions = {topic_id: partitions, **self.partitions}  # ... and puts before others of its slot
            self._slots_of[topic_id] = with_capacity(capacity)
        partitions[partition] = None
        self._slots_of[topic_id] = grown(len(partitions), self._slots_of[topic_id])

    def finished(self) -> Assignment:
        """As its record has it."""
        if not self.is_copy:
            return self.had
        return {
            topic_id: order_of_numbers(list(self.partitions[topic_id]), self._slots_of[topic_id])
            for topic_id in ordered(self.partitions, uuid_hash, self._slots)
        }
