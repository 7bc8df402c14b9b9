"""Which steps of a history are removed together."""

from kafkalet_conformance.between.shrinking import units
from kafkalet_conformance.building import Step


def test_waiting_for_a_topic_is_removed_with_its_creation() -> None:
    create, wait, fetch = ({"op": op} for op in ("request", "poll_until", "request"))
    assert units([create, wait, fetch]) == [[create, wait], [fetch]]


def test_epoch_of_a_session_is_not_incremented_without_its_request() -> None:
    opens: Step = {"op": "let", "name": "E", "value": 0}
    increments: Step = {"op": "let", "name": "E", "value": "$E+1"}
    fetch: Step = {"op": "request"}
    assert units([opens, fetch, increments]) == [[opens], [fetch, increments]]
