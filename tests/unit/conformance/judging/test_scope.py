"""How far the requests of a scenario reach."""

from typing import Any

import pytest

from kafkalet_conformance.judging.scope import Scope, scope
from kafkalet_conformance.transcripts import load


def step(api: str, **fields: Any) -> dict[str, Any]:
    return {"op": "request", "api": api, "version": 1, "case": "one", "body": fields}


def configs(kind: int, name: str) -> dict[str, Any]:
    return step("IncrementalAlterConfigs", resources=[{"resource_type": kind, "resource_name": name, "configs": []}])


def test_scope_of_a_scenario_with_its_own_topics_is_itself() -> None:
    assert scope(load("lo_time_equal").steps["3.9"]) is Scope.OWN


@pytest.mark.parametrize(
    ("one", "reach"),
    [
        (configs(2, "$t"), Scope.OWN),
        (configs(32, "$g"), Scope.OWN),
        (configs(16, "$m"), Scope.OBSERVES),
        (configs(4, "1"), Scope.CHANGES),
        (configs(2, "shared"), Scope.CHANGES),
        (configs(2, "shared") | {"expect": {"responses": [{"error_code": 3}]}}, Scope.OWN),
        (step("UpdateFeatures", feature_updates=[]), Scope.CHANGES),
        (step("UpdateFeatures", feature_updates=[], validate_only=True), Scope.OWN),
        (step("AlterClientQuotas", entries=[{"entity": [{"entity_name": "$u"}]}]), Scope.OWN),
        (step("AlterClientQuotas", entries=[{"entity": [{"entity_name": None}]}]), Scope.CHANGES),
        (step("ElectLeaders", topic_partitions=None), Scope.CHANGES),
        (step("ElectLeaders", topic_partitions=None) | {"expect": {"error_code": 84}}, Scope.CHANGES),
        (step("ElectLeaders", topic_partitions=[]), Scope.OWN),
        (step("AddRaftVoter", voter_id=7) | {"expect": {"error_code": 35}}, Scope.CHANGES),
        (step("ListPartitionReassignments", topics=None), Scope.OBSERVES),
        (step("AlterPartitionReassignments", topics=[{"name": "shared"}]), Scope.CHANGES),
        (step("ListGroups"), Scope.OBSERVES),
        (step("OffsetCommit", group_id="$g"), Scope.OWN),
        (step("OffsetCommit", group_id=""), Scope.OBSERVES),
        (step("DeleteGroups", groups_names=["$g", ""]), Scope.OBSERVES),
        (step("ListGroups") | {"keep": {"groups": "group_id"}}, Scope.OWN),
        (step("DescribeConfigs", resources=[{"resource_type": 4, "resource_name": "1"}]), Scope.OBSERVES),
    ],
    ids=lambda value: "" if isinstance(value, Scope) else value["api"],
)
def test_scope_depends_on_the_names_in_the_request(one: dict[str, Any], reach: Scope) -> None:
    assert scope([one]) is reach


@pytest.mark.parametrize("name", ["raft_voters_are_static", "unregister_unknown_broker"])
def test_scope_of_a_scenario_that_only_the_recorded_cluster_refuses_is_the_cluster(name: str) -> None:
    assert scope(load(name).steps["4.4"]) is Scope.CHANGES


def test_scope_of_a_scenario_is_the_widest_of_its_steps() -> None:
    assert scope([step("ListGroups"), configs(4, "1"), configs(2, "$t")]) is Scope.CHANGES
