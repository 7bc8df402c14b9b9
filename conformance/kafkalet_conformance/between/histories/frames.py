"""Malformed requests: valid ones with bytes changed, removed or added.

The topic name in them is invalid, so that a changed byte cannot create a topic.
"""

from typing import Any

from kafkalet.protocol.frame import RequestHeader
from kafkalet_conformance.building import T0, Step
from kafkalet_conformance.notation import messages
from kafkalet_conformance.playing.matching import resolve

from .history import History

TOPIC = "no such/topic"


def frames(h: History) -> None:
    for _ in range(h.dice.randint(5, 12)):
        api, version, body = h.of(*bodies(h))
        data = messages.request(api, version, resolve(body, {"here": TOPIC})).encode(version)
        head = RequestHeader(messages.APIS[api], version, 7, "c").encode()
        changed = mutated(h, bytearray(data))
        h.cases += 1
        h.step(
            "raw", case=f"{h.cases} {api} v{version}", conn="raw", hex=(head + bytes(changed)).hex(), framed=True,
            timeout_ms=1500, follow=True, **({} if api in ("ApiVersions", "Metadata") else {"decode": [api, version]}),
        )  # fmt: skip


def bodies(h: History) -> list[tuple[str, int, Step]]:
    def one(**partition: Any) -> list[Step]:
        return [{"name": "$here", "partitions": [partition]}]

    version = h.version("Fetch", 0, 12)
    fetched: Step = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 100}
    batch = {"magic": 2, "records": [{"ts": T0, "key": None, "value": "x"}]}
    described = {"resource_type": 2, "resource_name": "$here", "configuration_keys": ["a"]}
    return [
        ("Fetch", version, {"topics": [{"topic": "$here", "partitions": [fetched]}]}),
        ("ListOffsets", h.version("ListOffsets"), {"topics": one(partition_index=0, timestamp=-1)}),
        ("Produce", h.version("Produce", 3, 12), {"acks": 1, "topics": one(index=0, records=[batch])}),
        ("Metadata", h.version("Metadata", 4), {"topics": [{"name": "$here"}], "allow_auto_topic_creation": False}),
        ("DeleteRecords", h.version("DeleteRecords"), {"topics": one(partition_index=0, offset=1), "timeout_ms": 100}),
        ("ApiVersions", h.version("ApiVersions"), {"client_software_name": "a", "client_software_version": "1"}),
        ("DescribeConfigs", h.version("DescribeConfigs"), {"resources": [described]}),
        ("DeleteTopics", h.version("DeleteTopics", 0, 5), {"topic_names": ["$here"], "timeout_ms": 100}),
    ]


def mutated(h: History, data: bytearray) -> bytearray:
    for _ in range(h.of(1, 1, 2)):
        at = h.dice.randrange(len(data)) if data else 0
        match h.of("cut", "add", "set", "set", "set", "flip", "insert", "remove"):
            case "cut":
                del data[at:]
            case "add":
                data += bytes(h.of(1, 2, 8))
            case "set" if data:
                data[at] = h.of(0, 1, 2, 0x7F, 0x80, 0xFF, 0xFE)
            case "flip" if data:
                data[at] ^= 1 << h.dice.randrange(8)
            case "insert":
                data[at:at] = bytes([h.of(0, 1, 0xFF)])
            case "remove" if data:
                del data[at]
    return data
