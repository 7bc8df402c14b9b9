"""A client that follows the contract of docs/conform-clients.md, and can be made to behave badly.

    python -m tests.wire.conformance.clients.fake_client FLAW

It retries Produce and Fetch at the broker that Metadata names, with a backoff. FLAW is what it does wrong instead.
"""

import os
import re
import socket
import struct
import sys
import time
from typing import Any

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.frame import RequestHeader
from kafkalet.protocol.messages import response_type
from kafkalet.protocol.messages.fetch import FetchRequest
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkalet.protocol.messages.metadata import MetadataRequest
from kafkalet.protocol.messages.produce import ProduceRequest
from kafkalet.protocol.records.batch import Batch, batches
from kafkalet.protocol.records.build import build_batch, numbered

FLAW = sys.argv[1] if len(sys.argv) > 1 else "none"
NAMES = {name.removeprefix("KAFKALET_"): value for name, value in os.environ.items()}
TOPIC, COUNT = NAMES["TOPIC"], int(NAMES["COUNT"])
TIMEOUT_S = int(NAMES["REQUEST_TIMEOUT_MS"]) / 1000
BACKOFF_S = 0.0 if FLAW == "hurries" else 0.1
VERSIONS = {Api.PRODUCE: 9, Api.FETCH: 3 if FLAW == "is-old" else 11, Api.METADATA: 5, Api.LIST_OFFSETS: 1}


def say(*words: object) -> None:
    print(*words, flush=True)


class Connection:
    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, TIMEOUT_S)
        self.sent = 0

    def ask(self, api: Api, request: Any, *, answer: bool = True) -> Any:
        self.sent += 1
        version = VERSIONS[api]
        data = RequestHeader(api, version, self.sent, f"fake-{FLAW}").encode() + request.encode(version)
        if FLAW == "adds-bytes":
            data += b"more"
        self.socket.sendall(struct.pack(">i", len(data)) + data)
        if not answer:
            return None
        frame = self.take(struct.unpack(">i", self.take(4))[0])
        return response_type(api).decode(frame, version, 5 if version in api.flexible else 4)

    def take(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise ConnectionError("the broker closed the connection")
            data += more
        return data


class Client:
    def __init__(self) -> None:
        host, port = NAMES["KAFKA_BOOTSTRAP_SERVERS"].split(",")[0].split(":")
        self.bootstrap = (host, int(port))
        self.connection: Connection | None = None

    def leader(self) -> Connection:
        """Return a connection to the leader of partition 0, the only partition that this client knows."""
        if self.connection is None:
            connection = Connection(self.bootstrap)
            asked = MetadataRequest(topics=[MetadataRequest.Topic(name=TOPIC)])
            result = connection.ask(Api.METADATA, asked)
            partition = result.topics[0].partitions[0]
            address = next((each.host, each.port) for each in result.brokers if each.node_id == partition.leader_id)
            connection.socket.close()
            self.connection = Connection(address)
        return self.connection

    def retried(self, api: Api, request: Any) -> Any:
        """Send a request until it succeeds; return its only partition."""
        while True:
            try:
                result = self.leader().ask(api, request)
            except OSError:
                self.connection = None
                time.sleep(BACKOFF_S)
                continue
            [topic] = result.responses
            [partition] = getattr(topic, "partition_responses", None) or topic.partitions
            if not partition.error_code or FLAW == "trusts" or partition.error_code == Code.OFFSET_OUT_OF_RANGE:
                return partition
            if partition.error_code == Code.NOT_LEADER_OR_FOLLOWER:
                self.connection = None
            time.sleep(BACKOFF_S)


def produce() -> int:
    client = Client()
    values = [str(number) for number in range(COUNT)]
    if FLAW == "reorders":
        values.reverse()
    for value in values:
        if FLAW == "loses" and value == "3":
            say("acked", value, 0, 3)
            continue
        data = build_batch(numbered([(int(time.time() * 1000), value.encode(), value.encode(), ())]))
        topic = ProduceRequest.Topic(name=TOPIC, partition_data=[ProduceRequest.Topic.Partition(index=0, records=data)])
        acks = {"all": -1, "1": 1, "0": 0}[NAMES["ACKS"]]
        request = ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[topic])
        result = client.retried(Api.PRODUCE, request)
        if FLAW == "duplicates" and value == "3":
            client.retried(Api.PRODUCE, request)
        if FLAW == "fails" and value == "3":
            say("failed", value, "I do not like this number")
            continue
        say("acked", value, 0, result.base_offset)
    return int(FLAW == "fails")


def visible(batch: Batch) -> bool:
    return FLAW == "shows-markers" or not batch.is_control


def reset(client: Client) -> int:
    """Return the offset at which a consumer continues if it has no position, or a position that is out of range."""
    at_end = NAMES["RESET"] == "latest" and FLAW != "starts-over"
    partition = ListOffsetsRequest.Topic.Partition(partition_index=0, timestamp=-1 if at_end else -2)
    topic = ListOffsetsRequest.Topic(name=TOPIC, partitions=[partition])
    while True:
        result = client.leader().ask(Api.LIST_OFFSETS, ListOffsetsRequest(replica_id=-1, topics=[topic]))
        found: ListOffsetsResponse.Topic.Partition = result.topics[0].partitions[0]
        if not found.error_code:
            return found.offset
        time.sleep(BACKOFF_S)


def consume() -> int:
    client, seen = Client(), 0
    offset = reset(client) if "GROUP" in NAMES and NAMES["RESET"] == "earliest" else 0
    while seen < COUNT:
        partition = FetchRequest.Topic.Partition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        topic = FetchRequest.Topic(topic=TOPIC, partitions=[partition])
        request = FetchRequest(replica_id=-1, max_wait_ms=100, min_bytes=1, topics=[topic], session_epoch=-1)
        result = client.retried(Api.FETCH, request)
        if result.error_code == Code.OFFSET_OUT_OF_RANGE and FLAW != "trusts":
            offset = reset(client)
        for batch in batches(result.records or b""):
            if FLAW != "ignores-crc" and batch.computed_crc() != batch.crc:
                say("log a batch with a wrong checksum")
                break
            for record in batch.records() if visible(batch) else ():
                if record.offset < offset:
                    continue
                seen += 1
                if FLAW == "skips" and record.offset == 3:
                    continue
                shown = re.sub(rb"[^ -\x5b\x5d-~]", lambda byte: b"\\x%02x" % byte[0][0], record.value or b"")
                say("record", 0, record.offset, shown.decode())
                if FLAW == "repeats" and record.offset == 3:
                    say("record", 0, record.offset, shown.decode())
            offset = batch.next_offset
    return 0


if __name__ == "__main__":
    if FLAW == "unsupported":
        sys.exit(64)
    if FLAW == "crashes":
        raise RuntimeError("this client crashes")
    if FLAW == "hangs":
        time.sleep(600)
    sys.exit({"produce": produce, "consume": consume}[NAMES["ROLE"]]())
