"""Requests everything about the contents of a broker, and compares the responses of brokers with the same directory."""

from collections.abc import Iterator
from typing import Any

from kafkalet.protocol.releases import versions_of
from kafkalet_conformance.playing.connection import Connection


class Asker:
    """A connection that uses the highest version of each API that the release serves."""

    def __init__(self, bootstrap_servers: str, release: str) -> None:
        host, _, port = bootstrap_servers.rpartition(":")
        self.connection = Connection(host, int(port), timeout_s=30)
        self.versions = {api.title: versions for api, versions in versions_of(release).items()}

    def has(self, api: str, version: int = 0) -> bool:
        return api in self.versions and version <= self.versions[api].high

    def __call__(self, api: str, body: dict[str, Any], version: int | None = None) -> dict[str, Any]:
        return self.connection.ask(api, self.versions[api].high if version is None else version, body)

    def close(self) -> None:
        self.connection.close()


Answers = dict[str, Any]

TOPICS = (
    "plain",
    "codecs",
    "transactions",
    "compacted",
    "deleted",
    "epochs",
    "empty",
    "appended",
    "format-0",
    "format-1",
)
GROUPS = ("empty", "other", "deleted-offsets", "gone", "joined", "static", "consumers")
TRANSACTIONAL_IDS = ("ended-one", "ended-two", "open-one", "open-two", "unused", "missing")
AFTER_FIRST = (-1, 0, 7000, 30500, 100_000, 419_999, 700_000, 10**9)
"""The timestamps of ListOffsets, in milliseconds after the first record."""
LATEST, EARLIEST, MAX, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
MAX_INT = 0x7FFFFFFF
TOPIC_SOURCE, BROKER_SOURCE, DEFAULT_BROKER_SOURCE, METRICS_SOURCE, GROUP_SOURCE = 1, 2, 3, 7, 8


def ask_everything(bootstrap_servers: str, release: str, first_ms: int, *, thorough: bool) -> Answers:
    """Return the responses, keyed by question. `first_ms` is the time of the first records. Unless `thorough` is set,
    ListOffsets and Fetch are sent in their highest version only.
    """
    asker = Asker(bootstrap_servers, release)
    parts = [
        _metadata(asker),
        _offsets(asker, first_ms, thorough),
        _fetches(asker, thorough),
        *(part(asker) for part in (_epochs, _groups, _transactions, _configuration)),
    ]
    found = {question: _plain(answer) for part in parts for question, answer in part}
    asker.close()
    return found


def _plain(answer: Any) -> Any:
    """Remove the values that differ between two runs of the same broker."""
    if isinstance(answer, list):
        return [_plain(each) for each in answer]
    if not isinstance(answer, dict):
        return answer
    volatile = {"throttle_time_ms", "session_id", "host", "port", "preferred_read_replica", "transaction_start_time_ms"}
    return {name: _plain(value) for name, value in answer.items() if name not in volatile}


def _topics(asker: Asker) -> dict[str, list[int]]:
    answer = asker("Metadata", {"topics": None}, 7)
    return {
        topic["name"]: sorted(partition["partition_index"] for partition in topic["partitions"])
        for topic in answer["topics"]
        if topic["name"] in TOPICS
    }


def _metadata(asker: Asker) -> Iterator[tuple[str, Any]]:
    answer = asker("Metadata", {"topics": None})
    for topic in sorted(answer.pop("topics"), key=lambda topic: str(topic["name"])):
        for partition in topic["partitions"]:
            del partition["leader_epoch"]
        topic["partitions"].sort(key=lambda partition: int(partition["partition_index"]))
        yield f"Metadata of {topic['name']}", topic
    yield "Metadata", answer


def _offsets(asker: Asker, first_ms: int, thorough: bool) -> Iterator[tuple[str, Any]]:
    low, high = asker.versions["ListOffsets"].low, asker.versions["ListOffsets"].high
    low = low if thorough else high
    for topic, partitions in _topics(asker).items():
        for partition in partitions:
            for version in range(low, high + 1):
                for timestamp in (
                    *(first_ms + each for each in AFTER_FIRST),
                    *range(LATEST, _lowest_special(version) - 1, -1),
                ):
                    for isolation in (0, 1) if version >= 2 else (0,):
                        asked = {"partition_index": partition, "timestamp": timestamp, "max_num_offsets": 100}
                        asked["current_leader_epoch"] = -1
                        body = {"isolation_level": isolation, "topics": [{"name": topic, "partitions": [asked]}]}
                        answer = asker("ListOffsets", body, version)["topics"][0]["partitions"][0]
                        yield f"ListOffsets {version} {topic}-{partition} {timestamp} {isolation}", answer


def _lowest_special(version: int) -> int:
    return {7: MAX, 8: EARLIEST_LOCAL}.get(version, LATEST_TIERED if version >= 9 else EARLIEST)


def _fetches(asker: Asker, thorough: bool) -> Iterator[tuple[str, Any]]:
    versions = asker.versions["Fetch"]
    wanted = sorted({versions.low, 2, 3, 4, 5, 11, 12, versions.high} & set(range(versions.low, versions.high + 1)))
    wanted = wanted if thorough else wanted[-1:]
    ids = {}
    if asker.has("Metadata", 10):
        for topic in asker("Metadata", {"topics": None})["topics"]:
            ids[topic["name"]] = topic.get("topic_id", "ZERO")
    for topic, partitions in _topics(asker).items():
        for partition in partitions:
            end = _end(asker, topic, partition)
            for version in wanted:
                for offset in range(0, end + 2, 1 if thorough and version == versions.high else 7):
                    for isolation in (0, 1) if version >= 4 else (0,):
                        asked = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 2000}
                        asked |= {"current_leader_epoch": -1, "last_fetched_epoch": -1, "log_start_offset": -1}
                        which = {"topic_id": ids[topic]} if version >= 13 else {"topic": topic}
                        body = {
                            "isolation_level": isolation,
                            "session_epoch": -1,
                            "topics": [{**which, "partitions": [asked]}],
                        }
                        answer = asker("Fetch", body, version)
                        yield f"Fetch {version} {topic}-{partition} {offset} {isolation}", answer["responses"]


def _end(asker: Asker, topic: str, partition: int) -> int:
    asked = {"partition_index": partition, "timestamp": LATEST, "current_leader_epoch": -1}
    answer = asker("ListOffsets", {"topics": [{"name": topic, "partitions": [asked]}]}, 5)
    return int(answer["topics"][0]["partitions"][0]["offset"])


def _epochs(asker: Asker) -> Iterator[tuple[str, Any]]:
    for topic, partitions in _topics(asker).items():
        for partition in partitions:
            for epoch in range(3):
                asked = {"partition": partition, "current_leader_epoch": -1, "leader_epoch": epoch}
                body = {"replica_id": -1, "topics": [{"topic": topic, "partitions": [asked]}]}
                yield f"OffsetForLeaderEpoch {topic}-{partition} {epoch}", asker("OffsetForLeaderEpoch", body, 3)


def _groups(asker: Asker) -> Iterator[tuple[str, Any]]:
    for stable in (False, True):
        for group in GROUPS:
            body = {"group_id": group, "topics": None, "require_stable": stable}
            answer = asker("OffsetFetch", body, 7)
            answer["topics"].sort(key=lambda topic: str(topic["name"]))
            for topic in answer["topics"]:
                topic["partitions"].sort(key=lambda partition: int(partition["partition_index"]))
            yield f"OffsetFetch {group} {stable}", answer
    for group in GROUPS:
        yield f"DescribeGroups {group}", asker("DescribeGroups", {"groups": [group]})["groups"]
        if asker.has("ConsumerGroupDescribe"):
            yield f"ConsumerGroupDescribe {group}", asker("ConsumerGroupDescribe", {"group_ids": [group]})["groups"]
    listed = asker("ListGroups", {})
    listed["groups"].sort(key=lambda group: str(group["group_id"]))
    yield "ListGroups", listed


def _transactions(asker: Asker) -> Iterator[tuple[str, Any]]:
    for topic, partitions in _topics(asker).items():
        for partition in partitions if asker.has("DescribeProducers") else ():
            body = {"topics": [{"name": topic, "partition_indexes": [partition]}]}
            answer = asker("DescribeProducers", body)["topics"][0]["partitions"][0]
            answer["active_producers"].sort(key=lambda producer: int(producer["producer_id"]))
            yield f"DescribeProducers {topic}-{partition}", answer
    if asker.has("DescribeTransactions"):
        for name in TRANSACTIONAL_IDS:
            described = asker("DescribeTransactions", {"transactional_ids": [name]})
            yield f"DescribeTransactions {name}", described
        listed = asker("ListTransactions", {"duration_filter": -1})
        listed["transaction_states"].sort(key=lambda each: str(each["transactional_id"]))
        yield "ListTransactions", listed


def _configuration(asker: Asker) -> Iterator[tuple[str, Any]]:
    resources = [(2, topic, TOPIC_SOURCE) for topic in _topics(asker)]
    resources += [(4, "1", BROKER_SOURCE), (4, "", DEFAULT_BROKER_SOURCE)]
    if asker.has("ConsumerGroupDescribe"):
        resources += [(32, "consumers", GROUP_SOURCE), (16, "subscription", METRICS_SOURCE)]
    for kind, name, source in resources:
        body = {"resources": [{"resource_type": kind, "resource_name": name, "configuration_keys": None}]}
        [result] = asker("DescribeConfigs", body)["results"]
        given = {
            config["name"]: config["value"] for config in result["configs"] if config.get("config_source") == source
        }
        yield f"DescribeConfigs {kind} {name}", [result["error_code"], given]
    quotas = asker("DescribeClientQuotas", {"components": [], "strict": False})
    for entry in quotas["entries"] or ():
        entry["entity"].sort(key=lambda part: str(part["entity_type"]))
    quotas["entries"] = sorted(quotas["entries"] or (), key=str)
    yield "DescribeClientQuotas", quotas
    users = asker("DescribeUserScramCredentials", {"users": None})
    yield "DescribeUserScramCredentials", users
    everything = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
    acls = asker(
        "DescribeAcls", everything | dict.fromkeys(("resource_name_filter", "principal_filter", "host_filter"))
    )
    yield "DescribeAcls", sorted(acls["resources"], key=str)


def differences(expected: list[Answers], read: Answers) -> list[str]:
    """Describe the questions to which the response is none of the expected ones."""
    questions = sorted({question for answers in expected for question in answers} & read.keys())
    return [
        f"{question}\n  expected {[answers.get(question) for answers in expected]}\n  answered {read[question]}"
        for question in questions
        if read[question] not in [answers.get(question) for answers in expected]
    ]


def without_configuration(answers: Answers) -> Answers:
    """Leave out the values that a directory does not contain if the configuration is in ZooKeeper: the configurations
    themselves and topic ids. A recovered offset index has other entries if the topic has another
    `index.interval.bytes`, and the entries decide how many aborted transactions after the records are listed.
    """
    kept = {}
    for question, answer in answers.items():
        if question.startswith(("DescribeConfigs", "DescribeClientQuotas", "DescribeAcls")):
            continue
        if question.startswith("Metadata of"):
            answer = {name: value for name, value in answer.items() if name != "topic_id"}
        if question.startswith("Fetch"):
            answer = [_without_later_aborts(topic) for topic in answer]
        kept[question] = answer
    return kept


def _without_later_aborts(topic: Any) -> Any:
    [partition] = topic["partitions"]
    if not partition.get("aborted_transactions") or not partition["records"]:
        return topic
    last = partition["records"][-1]
    end = last.get("base_offset", 0) + last.get("last_offset_delta", 0)
    aborted = [each for each in partition["aborted_transactions"] if each["first_offset"] <= end]
    return {**topic, "partitions": [{**partition, "aborted_transactions": aborted}]}


def restore_formats(bootstrap_servers: str) -> None:
    """Set the message format of topics again, which a directory of a broker with ZooKeeper does not contain."""
    asker = Asker(bootstrap_servers, "2.8")
    for topic, message_format in (("format-0", "0.9.0"), ("format-1", "0.10.0")):
        config = {"name": "message.format.version", "config_operation": 0, "value": message_format}
        resource = {"resource_type": 2, "resource_name": topic, "configs": [config]}
        answer = asker("IncrementalAlterConfigs", {"resources": [resource]})
        assert answer["responses"][0]["error_code"] == 0, answer
    asker.close()
