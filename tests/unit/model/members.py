"""Group members of the classic protocol and of the consumer protocol (KIP-848)."""

from typing import Any

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.subscription import ConsumerProtocolSubscription

from .producers import TOPIC
from .stage import Stage

SESSION_MS = 45_000
GROUP = 0


class Member:
    """A group member. `epoch` is its generation, or its member epoch."""

    def __init__(self, stage: Stage, group: str, number: int) -> None:
        self.stage, self.group = stage, group
        self.member_id = ""
        self.epoch = -1
        self.number = number

    def join(self) -> int:
        raise NotImplementedError

    def heartbeat(self) -> int:
        """Send a heartbeat, and return the error code."""
        raise NotImplementedError

    def leave(self) -> int:
        raise NotImplementedError

    def commit(self, index: int, offset: int, epoch: int | None = None) -> int:
        """Commit an offset with the member's epoch or, if given, with `epoch`, and return the error code."""
        return commit(self.stage, self.group, index, offset, self.member_id, self.epoch if epoch is None else epoch)

    def _ask(self, api: Api, version: int, **fields: Any) -> Any:
        return self.stage.ask(api, version, self.stage.coordinator(self.group, GROUP), **fields)


class ClassicMember(Member):
    """The only member of its group, and its leader."""

    def join(self) -> int:
        subscription = ConsumerProtocolSubscription(topics=[TOPIC], user_data=None)
        metadata = b"\0\1" + subscription.encode(1)
        for _ in range(2):
            joined = self._ask(
                Api.JOIN_GROUP,
                9,
                group_id=self.group,
                session_timeout_ms=SESSION_MS,
                rebalance_timeout_ms=SESSION_MS,
                member_id=self.member_id,
                group_instance_id=None,
                protocol_type="consumer",
                protocols=[{"name": "range", "metadata": metadata}],
                reason=None,
            )
            self.member_id = joined["member_id"]
            if joined["error_code"] != Code.MEMBER_ID_REQUIRED:
                break
        if joined["error_code"]:
            return int(joined["error_code"])
        self.epoch = joined["generation_id"]
        synced = self._ask(
            Api.SYNC_GROUP,
            5,
            group_id=self.group,
            generation_id=self.epoch,
            member_id=self.member_id,
            group_instance_id=None,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[{"member_id": self.member_id, "assignment": b"all of it"}],
        )
        assert synced["error_code"] or synced["assignment"] == b"all of it"
        return int(synced["error_code"])

    def heartbeat(self) -> int:
        result = self._ask(
            Api.HEARTBEAT,
            4,
            group_id=self.group,
            generation_id=self.epoch,
            member_id=self.member_id,
            group_instance_id=None,
        )
        return int(result["error_code"])

    def leave(self) -> int:
        gone = {"member_id": self.member_id, "group_instance_id": None, "reason": None}
        result = self._ask(Api.LEAVE_GROUP, 5, group_id=self.group, members=[gone])
        return int(result["error_code"] or result["members"][0]["error_code"])


class ConsumerMember(Member):
    """The only member of its group; the broker assigns all partitions to it."""

    def join(self) -> int:
        self.member_id = f"member-{self.number:032d}"
        result = self._heartbeat(0, rebalance_timeout_ms=60_000, subscribed_topic_names=[TOPIC], topic_partitions=[])
        self.epoch = result["member_epoch"]
        if result["error_code"] == 0:
            assert result["assignment"]["topic_partitions"][0]["partitions"] == [0, 1]
        return int(result["error_code"])

    def heartbeat(self) -> int:
        return int(self._heartbeat(self.epoch)["error_code"])

    def leave(self) -> int:
        return int(self._heartbeat(-1)["error_code"])

    def _heartbeat(self, epoch: int, **more: Any) -> Any:
        return self._ask(
            Api.CONSUMER_GROUP_HEARTBEAT,
            1,
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=epoch,
            **more,
        )


def commit(stage: Stage, group: str, index: int, offset: int, member_id: str = "", epoch: int = -1) -> int:
    """Commit an offset, as a member if one is named, and return the error code."""
    partition = {
        "partition_index": index,
        "committed_offset": offset,
        "committed_leader_epoch": -1,
        "committed_metadata": "",
    }
    answer = stage.ask(
        Api.OFFSET_COMMIT,
        9,
        stage.coordinator(group, GROUP),
        group_id=group,
        generation_id_or_member_epoch=epoch,
        member_id=member_id,
        topics=[{"name": TOPIC, "partitions": [partition]}],
    )
    return int(answer["topics"][0]["partitions"][0]["error_code"])


def committed(stage: Stage, group: str, *, stable: bool) -> dict[int, int | Code]:
    """Return the committed offsets of a group by partition, or the error of a partition."""
    answer = stage.ask(
        Api.OFFSET_FETCH,
        8,
        stage.coordinator(group, GROUP),
        groups=[{"group_id": group, "topics": [{"name": TOPIC, "partition_indexes": [0, 1]}]}],
        require_stable=stable,
    )
    [result] = answer["groups"]
    assert result["error_code"] == 0, result
    found: dict[int, int | Code] = {}
    for partition in result["topics"][0]["partitions"]:
        if partition["error_code"]:
            found[partition["partition_index"]] = Code(partition["error_code"])
        elif partition["committed_offset"] >= 0:
            found[partition["partition_index"]] = partition["committed_offset"]
    return found
