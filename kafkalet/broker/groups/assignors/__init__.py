"""The server-side assignors, which distribute a group's partitions to its members.

    uniform     gives all members the same number of partitions, give or take one, and moves as few as possible
    range       gives each member contiguous partitions of every topic, the same ones for topics of equal size
    simple      for share groups: gives each partition the same number of members

All are pure functions of a `Spec`. They return exactly the assignment that Kafka's assignors compute, which depends on
the iteration order of Java's hash tables (broker/java_order.py).

Source: org.apache.kafka.coordinator.group.assignor.
"""

from collections.abc import Callable

from .range import assign as assign_range
from .spec import Assignment, Spec
from .uniform import assign as assign_uniform

ASSIGNORS: dict[str, Callable[[Spec], dict[str, Assignment]]] = {"uniform": assign_uniform, "range": assign_range}
"""The assignors of consumer groups, keyed by name. The first one is used if the members do not choose one."""
