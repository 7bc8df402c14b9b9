from kafkalet.protocol.errors import Code
from tests.wire.rights import without_rights

from .sharing import A, jobs


def test_group_is_described_with_its_members() -> None:
    with jobs() as group:
        group.share()
        [described] = group.describe()
        assert (described["group_state"], described["assignor_name"]) == ("Stable", "simple")
        assert (described["group_epoch"], described["assignment_epoch"]) == (3, 3)
        [member] = described["members"]
        assert member["member_id"] == A
        assert [of["partitions"] for of in member["assignment"]["topic_partitions"]] == [[0, 1]]


def test_missing_groups_have_errors() -> None:
    with jobs() as group:
        missing, unnamed = group.describe("none", "")[::-1]
        assert (missing["error_code"], missing["error_message"]) == (Code.GROUP_ID_NOT_FOUND, "Group none not found.")
        assert (unnamed["error_code"], unnamed["error_message"]) == (Code.INVALID_GROUP_ID, None)


def test_group_with_a_hidden_topic_is_not_described() -> None:
    with without_rights() as client:
        body = {"group_id": "jobs", "member_id": A, "subscribed_topic_names": ["t"]}
        with client.all():
            client.ask("FindCoordinator", 3, key="jobs", key_type=0)
            for epoch in (0, 2):
                client.ask("ShareGroupHeartbeat", 1, **body, member_epoch=epoch)
        asked = {"group_ids": ["jobs"], "include_authorized_operations": False}
        codes = []
        for right in ("read topic u", "describe group jobs", "describe topic t"):
            client.grant(right)
            codes.append(client.ask("ShareGroupDescribe", 1, **asked)["groups"][0]["error_code"])
        assert codes[0] == Code.GROUP_AUTHORIZATION_FAILED
        assert codes[2] == Code.NONE
