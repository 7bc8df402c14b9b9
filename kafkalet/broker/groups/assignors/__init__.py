"""How a group's partitions are dealt to its members: the assignors of the broker, by their names in heartbeats.

uniform     every member gets as many as any other, give or take one, and keeps what it has
range       per topic, contiguous partitions, the same ones of topics with as many

Both are plain functions of a `Spec`, and deal exactly as Kafka's do, down to who gets which partition: that depends on
the order in which Java's hash tables go through members, topics and partitions (java_order.py).

Source: org.apache.kafka.coordinator.group.assignor.
"""

from collections.abc import Callable

from .range import assign as assign_range
from .spec import Assignment, Spec
from .uniform import assign as assign_uniform

ASSIGNORS: dict[str, Callable[[Spec], dict[str, Assignment]]] = {"uniform": assign_uniform, "range": assign_range}
"""By name; the first one is for groups whose members name none."""
