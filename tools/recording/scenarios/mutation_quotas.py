"""The quota for creating and deleting partitions (KIP-599)."""

from kafkalet_conformance.building import ScenarioBuilder, Step
from tools.recording.definitions import Scenarios

from .quotas import EXACT, alter, entry, filtering

scenario = Scenarios("quotas", AlterClientQuotas=1)

RATE = 0.001
"""Partitions per second: a client that has created some has to wait for minutes."""


class Limited:
    """A client with a quota. Each of its requests is sent on a new connection, because Kafka mutes throttled ones."""

    def __init__(self, ask: ScenarioBuilder, name: str) -> None:
        self.ask, self.name, self.sent = ask, name, 0
        self.id = ask.unique(name)

    def limit(self, rate: float | None) -> None:
        alter(self.ask, f"{self.name}: quota {rate}", entry({"client-id": self.id}, controller_mutation_rate=rate))
        body = filtering(("client-id", EXACT, self.id), strict=True)
        if rate is None:
            self.ask.until("DescribeClientQuotas", 1, body, "entries", [])
        else:
            self.ask.until("DescribeClientQuotas", 1, body, "entries.0.values.0.value", rate)
        self.ask.step("sleep", ms=500)

    def request(self, case: str, api: str, version: int, body: Step) -> None:
        self.sent += 1
        self.ask.request(case, api, version, body, conn=f"as-{self.id}.{self.sent}")

    def create(self, case: str, version: int, *names: str, partitions: int = 3, validate_only: bool = False) -> None:
        topics = [{"name": name, "num_partitions": partitions, "replication_factor": 1} for name in names]
        self.request(
            case, "CreateTopics", version, {"topics": topics, "timeout_ms": 30000, "validate_only": validate_only}
        )

    def grow(self, case: str, version: int, topic: str, count: int, validate_only: bool = False) -> None:
        topics = [{"name": topic, "count": count, "assignments": None}]
        self.request(
            case, "CreatePartitions", version, {"topics": topics, "timeout_ms": 30000, "validate_only": validate_only}
        )

    def delete(self, case: str, version: int, *names: str) -> None:
        topics = [{"name": name, "topic_id": "ZERO"} for name in names]
        self.request(case, "DeleteTopics", version, {"topic_names": list(names), "topics": topics, "timeout_ms": 30000})


@scenario("KIP-599 ControllerMutationQuotaManager")
def mutation_quotas_versions(ask: ScenarioBuilder) -> None:
    """A client over its mutation quota gets THROTTLING_QUOTA_EXCEEDED, but in old versions only a delay."""
    client = Limited(ask, "c")

    def topic(name: str) -> str:
        return ask.unique(name)

    ask.unique("none")
    first, second = topic("first"), topic("second")
    ask.setup("CreateTopics", 4, {"topics": [{"name": second, "num_partitions": 1, "replication_factor": 1}]})
    client.limit(RATE)
    client.create("within the quota", 6, first)
    for v in ask.versions("CreateTopics"):
        client.create(f"create v{v}", v, topic(f"t{v}"))
        client.create(f"create v{v}, validated only", v, topic(f"u{v}"), validate_only=True)
        client.create(f"create v{v}, exists", v, second)
        client.create(f"create v{v}, illegal and good", v, "a b", topic(f"w{v}"))
    for v in ask.versions("CreatePartitions"):
        client.grow(f"grow v{v}", v, second, 5 + v)
        client.grow(f"grow v{v}, validated only", v, second, 20, validate_only=True)
        client.grow(f"grow v{v}, fewer", v, second, 1)
        client.grow(f"grow v{v}, unknown topic", v, "$none", 3)
    for v in ask.versions("DeleteTopics"):
        if v in ask.versions("CreateTopics") and v < 6:
            client.delete(f"delete v{v}", v, f"$t{v}")
        client.delete(f"delete v{v}, unknown topic", v, "$none")
        client.delete(f"delete v{v}, another and an unknown one", v, first, "$none")
    client.limit(None)
    client.delete("without a quota", 6, second)


@scenario("KIP-599 ReplicationControlManager")
def mutation_quotas_several(ask: ScenarioBuilder) -> None:
    """The topics of a request count one after the other: once one of them exceeds the mutation quota, later ones are
    refused.
    """
    for v in (4, 6, 7):
        names = [ask.unique(f"t{v}{n}") for n in range(4)]
        creator = Limited(ask, f"c{v}")
        creator.limit(RATE)
        creator.create(f"v{v} validated only", v, *names[:2], validate_only=True)
        creator.create(f"v{v} three topics", v, *names[:3])
        creator.create(f"v{v} four topics", v, *names)
        creator.limit(None)
        creator.create(f"v{v} without a quota", 4, *names)
