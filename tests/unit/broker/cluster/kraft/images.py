"""A metadata image with everything that an image can contain."""

from kafkalet.broker.cluster.metadata import MetadataImage, PartitionState, TopicState
from kafkalet.broker.security.acl import Acl, Operation, PatternType, Permission, ResourceType
from kafkalet.broker.security.delegation_tokens import DelegationToken
from kafkalet.broker.security.principal import user
from kafkalet.broker.security.scram_credentials import ScramCredential, ScramMechanism

TOPIC_ID = bytes(range(16))
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"


def full_image() -> MetadataImage:
    made = MetadataImage(CLUSTER_ID)
    first, second = PartitionState(0, [1, 2]), PartitionState(1, [2, 1])
    second.restore(leader=-1, isr=[1], leader_epoch=4, partition_epoch=7, adding=[2], removing=[1])
    made.add_topic(TopicState("t", TOPIC_ID, [first, second], {"retention.ms": "5"}))
    made.broker_config = {None: {"max.connections": "10"}, 2: {"max.connections": "20"}}
    made.group_config = {"g": {"consumer.session.timeout.ms": "50000"}}
    made.client_metrics = {"m": {"metrics": "org.apache"}}
    made.client_quotas = {frozenset({("user", None), ("client-id", "c")}): {"producer_byte_rate": 1.5}}
    made.acls.add(Acl(ResourceType.TOPIC, PatternType.PREFIXED, "t", "User:a", "*", Operation.READ, Permission.DENY))
    made.scram_credentials["a", ScramMechanism.SCRAM_SHA_512] = ScramCredential(b"salt", b"stored", b"server", 4096)
    made.delegation_tokens["id"] = DelegationToken("id", user("a"), user("b"), (user("c"),), 1, 3, 2)
    return made
