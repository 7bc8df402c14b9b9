"""Metadata, ApiVersions, and malformed requests."""

import struct
from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step, batch
from tools.recording.definitions import Scenarios

scenario = Scenarios("metadata")


def ask_metadata(ask: ScenarioBuilder, case: str, version: int, topics: Any, only: bool = False, **more: Any) -> None:
    body = {"topics": topics} | more
    extra: Step = {"only": ["topics", "error_code"]} if only else {}
    ask.request(case, "Metadata", version, body, **extra)


@scenario("AutoTopicCreationManager.createTopics KafkaApis.getTopicMetadata", level="must")
def metadata_auto_create(ask: ScenarioBuilder) -> None:
    """Metadata creates unknown topics if the broker and, since version 4, the request allow it, and returns
    UNKNOWN_TOPIC_OR_PARTITION until a topic is available."""
    for version in (0, 1, 3):
        if version in ask.versions("Metadata"):
            n = ask.let(f"n{version}", f"auto{version}.<unique>")
            ask_metadata(ask, f"v{version} makes it", version, [{"name": n}], only=True)
            ask.wait_for_leader(n)
            ask_metadata(ask, f"v{version} made", version, [{"name": n}], only=True)
    for version in (4, 9, 12):
        n, m = ask.let(f"n{version}", f"auto{version}.<unique>"), ask.let(f"m{version}", f"not{version}.<unique>")
        ask_metadata(ask, f"v{version} not allowed", version, [{"name": m}], True, allow_auto_topic_creation=False)
        ask_metadata(ask, f"v{version} still not", version, [{"name": m}], True, allow_auto_topic_creation=False)
        ask_metadata(ask, f"v{version} makes it", version, [{"name": n}], True, allow_auto_topic_creation=True)
        ask.wait_for_leader(n)
        ask.offsets(f"v{version} it is there", n, -1)
        ask.offsets(f"v{version} with one partition", n, -1, partition=1)


@scenario("Topic.validate KafkaApis.getTopicMetadata")
def metadata_names(ask: ScenarioBuilder) -> None:
    """Metadata returns INVALID_TOPIC_EXCEPTION for illegal names whether or not topics may be created, and names a
    repeated topic once."""
    t = ask.topic()
    for version in (1, 4, 9, 12):
        for name in ("", "a b", "x" * 250, ".", ".."):
            for auto in (True, False):
                more: Step = {"allow_auto_topic_creation": auto} if version >= 4 else {}
                case = f"v{version} {name[:3]!r}{' auto' if auto else ''}"
                if auto or version >= 4:
                    ask_metadata(ask, case, version, [{"name": name}], True, **more)
        ask_metadata(ask, f"v{version} twice", version, [{"name": t}, {"name": t}], True)
        ask_metadata(ask, f"v{version} none", version, [], False)
    nope = ask.unknown_topic()
    both = [{"name": nope}, {"name": t}]
    ask_metadata(ask, "good and unknown", 9, both, True, allow_auto_topic_creation=False)


@scenario("KIP-516 KafkaApis.handleTopicMetadataRequest", level="must")
def metadata_ids(ask: ScenarioBuilder) -> None:
    """Metadata since version 12 accepts topic ids, returns UNKNOWN_TOPIC_ID for unknown ones, and versions 10 and 11
    return INVALID_REQUEST for ids."""
    t = ask.topic(partitions=2)
    bogus = ask.let("bogus.id", "0f0f0f0f-1111-4222-8333-444455556666")
    for version in (10, 11, 12, 13):
        if version in ask.versions("Metadata"):
            for case, topic in {
                "id": {"name": None, "topic_id": "$t.id"},
                "unknown id": {"name": None, "topic_id": bogus},
                "zero id": {"name": None, "topic_id": "ZERO"},
                "id and name": {"name": t, "topic_id": "$t.id"},
                "unknown id and name": {"name": t, "topic_id": bogus},
            }.items():
                more = {"allow_auto_topic_creation": False}
                ask_metadata(ask, f"v{version} {case}", version, [topic], True, **more)
    by_id = [{"name": None, "topic_id": bogus}, {"name": None, "topic_id": "$t.id"}]
    ask_metadata(ask, "v12 two ids", 12, by_id, True)


@scenario("KIP-430 AuthHelper.authorizedOperations", level="detail")
def metadata_operations(ask: ScenarioBuilder) -> None:
    """Without an authorizer, Metadata since version 8 says that all operations are authorized, for topics and up to
    version 10 for the cluster.
    """
    t = ask.topic()
    for version in (8, 9, 10, 11, 12):
        more: Step = {"include_topic_authorized_operations": True}
        if version <= 10:
            more["include_cluster_authorized_operations"] = True
        ask_metadata(ask, f"v{version}", version, [{"name": t}], **more)


@scenario("KIP-700 KIP-919 AuthHelper.computeDescribeClusterResponse")
def describe_cluster(ask: ScenarioBuilder) -> None:
    """DescribeCluster returns the brokers of the cluster, MISMATCHED_ENDPOINT_TYPE for the endpoint type of
    controllers, and UNSUPPORTED_ENDPOINT_TYPE for unknown types."""
    for version in ask.versions("DescribeCluster"):
        body: Step = {"include_cluster_authorized_operations": False}
        ask.request(f"v{version}", "DescribeCluster", version, body)
        every: Step = {"include_cluster_authorized_operations": True}
        ask.request(f"v{version} operations", "DescribeCluster", version, every)
        if version >= 1:
            ask.request(f"v{version} controllers", "DescribeCluster", version, body | {"endpoint_type": 2})
            ask.request(f"v{version} endpoint type 7", "DescribeCluster", version, body | {"endpoint_type": 7})


def head(key: int, version: int, client: bytes | None = b"c", flexible: bool = False) -> bytes:
    name = struct.pack(">h", -1) if client is None else struct.pack(">h", len(client)) + client
    return struct.pack(">hhi", key, version, 5) + name + (b"\0" if flexible else b"")


@scenario("ByteBufferAccessor.readArray RequestContext.parseRequest", area="malformed_requests")
def list_offsets_bytes(ask: ScenarioBuilder) -> None:
    """A broker closes the connection for ListOffsets requests that are cut off or have invalid lengths, and ignores
    additional bytes at the end."""
    t = ask.topic()
    ask.produce(t, batch(10))
    good = head(2, 1) + struct.pack(">iih1siiq", -1, 1, 1, b"x", 1, 0, -1)
    decode: Step = {"decode": ["ListOffsets", 1]}
    ask.raw("good", good, **decode)
    ask.raw("good, client id null", good.replace(b"\0\1c", b"\xff\xff", 1), **decode)
    ask.raw("trailing bytes", good + b"\0\0\0", **decode)
    for cut in (1, 8, 9, 13, 20, len(good) - 11):
        ask.raw(f"{cut} bytes missing", good[:-cut])
    body = head(2, 1)
    ask.raw("no body", body)
    ask.raw("null topics", body + struct.pack(">ii", -1, -1))
    ask.raw("-2 topics", body + struct.pack(">ii", -1, -2))
    ask.raw("2147483647 topics", body + struct.pack(">ii", -1, 2147483647))
    ask.raw("null name", body + struct.pack(">iihi", -1, 1, -1, 0))
    ask.raw("name longer than the frame", body + struct.pack(">iih", -1, 1, 30000) + b"x")
    ask.raw("name that is no UTF-8", body + struct.pack(">iih2si", -1, 1, 2, b"\xff\xfe", 0), **decode)
    ask.raw("null partitions", body + struct.pack(">iih1si", -1, 1, 1, b"x", -1))
    ask.raw("100000 partitions", body + struct.pack(">iih1si", -1, 1, 1, b"x", 100000))


@scenario("KIP-482 ByteBufferAccessor.readUnsignedVarint", area="malformed_requests")
def flexible_bytes(ask: ScenarioBuilder) -> None:
    """A broker ignores unknown tagged fields, and closes the connection for tags, varints and lengths in flexible
    requests that are invalid."""
    prefix = head(2, 6, flexible=True) + struct.pack(">ib", -1, 0)
    decode: Step = {"decode": ["ListOffsets", 6]}
    partition = struct.pack(">iiq", 0, -1, -1)
    ask.raw("good", prefix + b"\x02\x02x\x02" + partition + b"\0\0\0", **decode)
    ask.raw("unknown tag at the end", prefix + b"\x02\x02x\x02" + partition + b"\0\0\x01\x63\x02ab", **decode)
    ask.raw("unknown tag in a partition", prefix + b"\x02\x02x\x02" + partition + b"\x01\x63\x02ab\0\0", **decode)
    ask.raw("tag longer than the frame", prefix + b"\x02\x02x\x02" + partition + b"\0\0\x01\x63\x7f")
    ask.raw("a million tags", prefix + b"\x02\x02x\x02" + partition + b"\0\0\xc0\x84\x3d")
    ask.raw("null topics", prefix + b"\0\0")
    ask.raw("null name", prefix + b"\x02\0\x01\0\0")
    ask.raw("varint of six bytes", prefix + b"\xff\xff\xff\xff\xff\x01")
    ask.raw("four thousand million topics", prefix + b"\xff\xff\xff\xff\x0f")
    ask.raw("no tags in the header", head(2, 6) + struct.pack(">ib", -1, 0) + b"\x01\0")
    tagged = head(2, 6) + b"\x01\x63\x02ab" + struct.pack(">ib", -1, 0) + b"\x01\0"
    ask.raw("unknown tag in the header", tagged, **decode)


@scenario("KIP-511 ApiVersionsRequest.isValid", area="malformed_requests")
def api_versions_bytes(ask: ScenarioBuilder) -> None:
    """A broker responds to an ApiVersions request with a malformed client name or version, and closes the connection if
    the request is cut off.
    """

    def body(name: bytes, version: bytes) -> bytes:
        return bytes([len(name) + 1]) + name + bytes([len(version) + 1]) + version + b"\0"

    follow: Step = {"follow": True}
    for case, name, version in (
        ("empty name", b"", b"1"),
        ("empty version", b"a", b""),
        ("name with a space", b"a b", b"1"),
        ("name that begins with a dash", b"-a", b"1"),
        ("name that ends in a dot", b"a.", b"1"),
        ("underscore", b"a_b", b"1"),
    ):
        ask.raw(case, head(18, 3, flexible=True) + body(name, version), decode=["ApiVersions", 3], **follow)
        ask.steps[-1]["only"] = ["correlation_id", "then"]
    ask.raw("v3 without body", head(18, 3, flexible=True), **follow)
    ask.raw("v3 cut", head(18, 3, flexible=True) + b"\x02a", **follow)
    ask.raw("v0 with trailing bytes", head(18, 0) + b"\0\0\0", decode=["ApiVersions", 0], **follow)
    ask.steps[-1]["only"] = ["correlation_id", "then"]


@scenario("ByteBufferAccessor.readArray RequestContext.parseRequest", area="malformed_requests")
def produce_fetch_bytes(ask: ScenarioBuilder) -> None:
    """A broker closes the connection for Produce and Fetch requests that are cut off or have invalid lengths."""
    produce = head(0, 3) + struct.pack(">hhiih1siii", -1, 1, 1000, 1, 1, b"x", 1, 0, -1)
    ask.raw("produce: null records", produce, decode=["Produce", 3])
    ask.raw("produce: records longer than the frame", produce[:-4] + struct.pack(">i", 1000) + b"abc")
    ask.raw("produce: records of length -2", produce[:-4] + struct.pack(">i", -2))
    for cut in (4, 5, 20):
        ask.raw(f"produce: {cut} bytes missing", produce[:-cut])
    fetch = head(1, 4) + struct.pack(">iiiibih1siiqi", -1, 0, 0, 1000, 0, 1, 1, b"x", 1, 0, 0, 1000)
    ask.raw("fetch", fetch, decode=["Fetch", 4])
    for cut in (1, 4, 17, 30):
        ask.raw(f"fetch: {cut} bytes missing", fetch[:-cut])
    ask.raw("fetch: -2 topics", head(1, 4) + struct.pack(">iiiibi", -1, 0, 0, 1000, 0, -2))
    ask.raw(
        "fetch: isolation level 5",
        fetch.replace(struct.pack(">ib", 1000, 0), struct.pack(">ib", 1000, 5), 1),
        decode=["Fetch", 4],
    )


@scenario("RequestHeader.parse", level="must", area="malformed_requests")
def headers(ask: ScenarioBuilder) -> None:
    """A broker returns any correlation id, accepts long, empty, null and undecodable client ids, and closes the
    connection if the client id exceeds the frame."""
    for case, client in (("long", b"x" * 2000), ("no UTF-8", b"\xff\xfe"), ("null", None), ("empty", b"")):
        ask.raw(f"client id {case}", head(18, 0, client), decode=["ApiVersions", 0])
        ask.steps[-1]["only"] = ["correlation_id"]
    ask.raw("client id of length -2", struct.pack(">hhih", 18, 0, 5, -2))
    ask.raw("client id longer than the frame", struct.pack(">hhih", 18, 0, 5, 100) + b"abc")
    for correlation in (-1, -(2**31), 2**31 - 1):
        ask.raw(
            f"correlation id {correlation}",
            struct.pack(">hhih1s", 18, 0, correlation, 1, b"c"),
            decode=["ApiVersions", 0],
        )
        ask.steps[-1]["only"] = ["correlation_id"]


@scenario(
    "KIP-966 DescribeTopicPartitionsRequestHandler.handleDescribeTopicPartitionsRequest",
    level="detail",
    DescribeTopicPartitions=0,
)
def found_describe_empty_name(ask: ScenarioBuilder) -> None:
    """DescribeTopicPartitions returns UNKNOWN_SERVER_ERROR for the whole request if one topic name is empty and no
    cursor skips it."""
    t = ask.topic()
    names = [{"name": ""}, {"name": t}]
    bodies: dict[str, dict[str, Any]] = {
        "alone": {"topics": [{"name": ""}]},
        "beside another": {"topics": names},
        "with a cursor": {"topics": names, "cursor": {"topic_name": t, "partition_index": 0}},
        "under the cursor": {"topics": names, "cursor": {"topic_name": "", "partition_index": 0}},
    }
    for case, body in bodies.items():
        ask.request(case, "DescribeTopicPartitions", 0, {"response_partition_limit": 2000} | body)
