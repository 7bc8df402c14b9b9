"""Tests of the steps that are recorded with a release for which they were not written."""

from typing import Any

from tools.recording.recorder import served_steps

REQUEST = {"op": "request", "case": "latest", "api": "ListOffsets"}
BODY: dict[str, Any] = {"topics": [{"name": "$t", "partitions": [{"partition_index": 0, "timestamp": -1}]}]}


def test_request_is_sent_in_the_highest_version_of_the_release() -> None:
    assert served_steps([REQUEST | {"version": 5, "body": BODY}], "1.1") == [REQUEST | {"version": 2, "body": BODY}]


def test_case_with_a_value_that_the_release_cannot_encode_is_left_out() -> None:
    assert served_steps([REQUEST | {"version": 5, "body": BODY | {"isolation_level": 1}}], "1.0") != []
    assert served_steps([REQUEST | {"version": 5, "body": BODY | {"isolation_level": 1}}], "0.10.2") == []


def test_case_that_names_its_version_is_not_sent_in_another() -> None:
    assert served_steps([REQUEST | {"version": 5, "body": BODY, "case": "v5 latest"}], "1.1") == []


def test_case_that_needs_a_response_that_is_left_out_is_left_out() -> None:
    given = {"op": "request", "case": "first", "api": "DescribeCluster", "version": 0, "body": {}}
    using = {"op": "request", "case": "then", "api": "Metadata", "version": 1, "body": {"topics": [{"name": "$c"}]}}
    bound = given | {"bind": {"c": "cluster_id"}}
    assert served_steps([bound, using], "2.7") == []
    assert served_steps([bound, using], "2.8") == [bound, using]


def test_preparation_that_must_succeed_is_kept() -> None:
    step = {"op": "request", "setup": True, "must_succeed": True, "api": "DescribeCluster", "version": 0, "body": {}}
    assert served_steps([step], "2.7") == [step]
    assert served_steps([step | {"must_succeed": False}], "2.7") == []


def test_raw_request_that_only_brokers_may_send_is_left_out_if_the_release_serves_it() -> None:
    shutdown = {"op": "raw", "case": "ControlledShutdown v0", "framed": True, "hex": "0007000000000005"}
    assert served_steps([shutdown], "3.2") == []
    assert served_steps([shutdown], "3.3") == [shutdown]
