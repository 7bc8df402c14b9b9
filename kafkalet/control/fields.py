"""Types of parameters and fields that several routes share."""

from typing import Annotated

from kafkalet.testing.reading import Isolation

from .shapes import INT32_MAX, Field, Integer, Number, Object

MAX_WAIT_S = 3600.0

Int32 = Annotated[int, Integer(0, INT32_MAX)]
"""An id or an index."""
Int64 = Annotated[int, Integer(0)]
"""An offset, a time or a number."""
Name = Annotated[str, "The name of the topic."]
Partition = Annotated[Int32, "The partition."]
NodeId = Annotated[Int32, "The id of the broker."]
IsolationLevel = Annotated[
    Isolation,
    "With `read_committed`, records of open and aborted transactions are left out.",
]
Timeout = Annotated[float | None, Number(0, MAX_WAIT_S), "The longest time to wait, in seconds. The default is 10."]
NewCoordinator = Annotated[Int32 | None, "The broker. The default is another in-sync replica."]
COORDINATOR = Object(
    "Coordinator",
    "The broker that coordinates a group or a transactional id.",
    Field("node_id", Integer(0, INT32_MAX), "The id of the broker."),
)
