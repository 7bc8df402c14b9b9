"""StreamsGroupTopologyDescriptionUpdate: rights and the feature; recorded scenarios cover the other errors."""

import kafkalet
from kafkalet.protocol.errors import Code
from tests.wire.brokers import Plain, Wire
from tests.wire.rights import without_rights

BODY: Plain = {
    "group_id": "g",
    "member_id": "a" * 22,
    "topology_epoch": 0,
    "topology_description": {"subtopologies": [], "global_stores": []},
}
STREAMS_APIS = {
    "StreamsGroupHeartbeat": {"group_id": "g", "member_id": "a" * 22, "member_epoch": 1},
    "StreamsGroupTopologyDescriptionUpdate": BODY,
}


def test_right_to_read_the_group_is_required() -> None:
    with without_rights() as client:
        answer = client.ask("StreamsGroupTopologyDescriptionUpdate", 0, **BODY)
        assert answer["error_code"] == Code.GROUP_AUTHORIZATION_FAILED
        client.grant("read group g")
        answer = client.ask("StreamsGroupTopologyDescriptionUpdate", 0, **BODY)
        assert answer["error_message"] == "The broker has no streams group topology description plugin configured."


def test_streams_groups_can_be_disabled() -> None:
    for config in ({}, {"group.coordinator.rebalance.protocols": "classic,consumer"}):
        with kafkalet.Cluster(version="4.4", config=config) as cluster:
            wire = Wire(cluster)
            if not config:
                update = {"feature": "streams.version", "max_version_level": 0, "upgrade_type": 3}
                wire.ask("UpdateFeatures", 1, {"timeout_ms": 5000, "feature_updates": [update]})
            wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})
            for api, body in STREAMS_APIS.items():
                assert wire.ask(api, 0, body)["error_code"] == Code.UNSUPPORTED_VERSION
            [group] = wire.ask("StreamsGroupDescribe", 0, {"group_ids": ["g"]})["groups"]
            assert (group["error_code"], group["error_message"], group["group_epoch"]) == (35, None, 0)
            wire.close()
