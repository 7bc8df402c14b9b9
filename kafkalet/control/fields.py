"""Parameters and fields that several routes share."""

from __future__ import annotations

from .shapes import INT32_MAX, Field, Integer, Nullable, Number, Object, Text

MAX_WAIT_S = 3600.0

TOPIC = Field("name", Text(), "The name of the topic.")
PARTITION = Field("partition", Integer(0, INT32_MAX), "The partition.")
NODE_ID = Field("node_id", Integer(0, INT32_MAX), "The id of the broker.")
ISOLATION = Field(
    "isolation",
    Text("read_uncommitted", "read_committed"),
    "With `read_committed`, records of open and aborted transactions are left out.",
    "read_uncommitted",
)
TIMEOUT = Field(
    "timeout_s",
    Nullable(Number(0, MAX_WAIT_S)),
    "The longest time to wait, in seconds. The default is 10.",
    None,
)
COORDINATOR = Object(
    "Coordinator",
    "The broker that coordinates a group or a transactional id.",
    Field("node_id", Integer(0, INT32_MAX), "The id of the broker."),
)
NEW_COORDINATOR = Object(
    "MoveCoordinator",
    "A new coordinator.",
    Field("node_id", Nullable(Integer(0, INT32_MAX)), "The broker. The default is another in-sync replica.", None),
)
