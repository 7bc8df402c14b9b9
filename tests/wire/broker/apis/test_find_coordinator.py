"""FindCoordinator for share partitions; recorded transcripts cover groups and transactional ids."""

import pytest

from kafkalet.formats import uuid_text
from kafkalet.protocol.errors import Code
from tests.wire.rights import without_rights

from .sharing import Jobs, jobs

ID = uuid_text(b"t" * 16)


def codes(group: Jobs, *keys: str) -> list[int]:
    answer = group.wire.ask("FindCoordinator", 6, {"key_type": 2, "coordinator_keys": list(keys)})
    return [each["error_code"] for each in answer["coordinators"]]


def test_coordinator_of_a_share_partition_is_found() -> None:
    with jobs() as group:
        assert codes(group, f"jobs:{ID}:0", f"with:colons:{ID}:+7", f"jobs:{ID}:0:") == [0, 0, 0]
        assert "__share_group_state" in group.wire.cluster._server.metadata.topics


def test_malformed_keys_are_refused() -> None:
    with jobs() as group:
        malformed = ["", ":", "jobs", f"jobs:{ID}", f"jobs:{ID}:x", f":{ID}:0", f" :{ID}:0", f"jobs:{ID[:-1]}:0"]
        assert codes(group, *malformed) == [Code.INVALID_REQUEST] * len(malformed)


@pytest.mark.parametrize("version", [4, 5])
def test_share_partitions_are_unknown_before_version_6(version: int) -> None:
    with jobs() as group:
        answer = group.wire.ask("FindCoordinator", version, {"key_type": 2, "coordinator_keys": [f"jobs:{ID}:0"]})
        [found] = answer["coordinators"]
        assert (found["error_code"], found["error_message"]) == (Code.INVALID_REQUEST, "")


def test_release_4_0_knows_no_share_partitions() -> None:
    with jobs("4.0") as group:
        assert codes(group, f"jobs:{ID}:0") == [Code.INVALID_REQUEST]


def test_only_brokers_may_look_up_share_partitions() -> None:
    with without_rights() as client:
        body = {"key_type": 2, "coordinator_keys": [f"jobs:{ID}:0"]}
        [found] = client.ask("FindCoordinator", 6, **body)["coordinators"]
        assert found["error_code"] == Code.CLUSTER_AUTHORIZATION_FAILED
        client.grant("cluster_action cluster")
        [found] = client.ask("FindCoordinator", 6, **body)["coordinators"]
        assert found["error_code"] == Code.NONE
