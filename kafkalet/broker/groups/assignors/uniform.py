"""The assignor "uniform": every member gets as many partitions as any other, and keeps what it has.

Where all members want the same topics (homogeneous.py) the numbers differ by one at most; where they want different
ones (heterogeneous.py) they are brought as close as their wishes allow.

Source: org.apache.kafka.coordinator.group.assignor.UniformAssignor.
"""

from .heterogeneous import Heterogeneous
from .homogeneous import assign_homogeneous
from .spec import Assignment, Spec


def assign(spec: Spec) -> dict[str, Assignment]:
    if not spec.members:
        return {}
    return assign_homogeneous(spec) if spec.is_homogeneous else Heterogeneous(spec).assign()
