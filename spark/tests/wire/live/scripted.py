"""A broker with one topic, whose responses can be replaced by a test.

    with ScriptedBroker() as broker:
        broker.script(Api.FETCH, fetched(error_code=6), fetched(records))     the first response, the second, ...
        LiveBroker(broker.bootstrap_servers)...

A scripted response is a message, bytes to send as they are, a function of the request, SILENT or HANG_UP. Requests
without a scripted response are answered as by a broker that leads all partitions, with empty fetch responses.
"""

from __future__ import annotations

import itertools
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from kafkalet.protocol.api import Api
from kafkalet.protocol.frame import RequestHeader, response_frame
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalet.protocol.messages.fetch import FetchResponse
from kafkalet.protocol.messages.list_offsets import ListOffsetsResponse
from kafkalet.protocol.messages.metadata import MetadataResponse
from kafkalet.protocol.schema import Request, Response

TOPIC = "t"
PARTITIONS = 3
TOPIC_ID = bytes(range(16))
SILENT = b""
HANG_UP = None
Answer = Response | bytes | None | Callable[[Any], "Response | bytes | None"]

VERSIONS = {
    Api.FETCH: (0, 18),
    Api.LIST_OFFSETS: (0, 11),
    Api.METADATA: (0, 13),
    Api.API_VERSIONS: (0, 4),
    Api.SASL_HANDSHAKE: (0, 1),
    Api.SASL_AUTHENTICATE: (0, 2),
}


class ScriptedBroker:
    """Listens on a free port inside its `with` block; each connection has a thread."""

    def __init__(self, versions: dict[Api, tuple[int, int]] | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.versions = VERSIONS | (versions or {})
        self.asked: list[tuple[Request, int]] = []
        """All requests except ApiVersions, with their versions."""
        self.connections = 0
        self._tls = tls
        self.epoch = 5
        self.others: list[ScriptedBroker] = []
        """Further brokers of the cluster, with ids 2, 3, ..."""
        self.leader_id = 1
        self._scripts: dict[Api, deque[Answer]] = {}
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.bootstrap_servers = f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in [self._listener, *self._sockets]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive()

    def script(self, api: Api, *answers: Answer) -> None:
        """Set the responses to the next requests of an API."""
        self._scripts.setdefault(api, deque()).extend(answers)

    def forget(self) -> None:
        """Drop all scripted responses that were not used."""
        self._scripts.clear()

    def requests(self, api: Api) -> list[Any]:
        """Return the requests received for an API."""
        return [request for request, _ in self.asked if request.API is api]

    def versions_of(self, api: Api) -> set[int]:
        """Return the versions of the requests received for an API."""
        return {version for request, version in self.asked if request.API is api}

    def _start(self, run: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=run, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                accepted, _ = self._listener.accept()
                self._sockets.append(accepted)
                self.connections += 1
                self._start(self._serve, accepted)

    def _serve(self, plain: socket.socket) -> None:
        with suppress(OSError), plain:
            if self._tls is None:
                self._converse(plain)
            else:
                with self._tls.wrap_socket(plain, server_side=True) as encrypted:
                    self._converse(encrypted)

    def _converse(self, accepted: socket.socket) -> None:
        with accepted.makefile("rb") as stream:
            while head := stream.read(4):
                frame = stream.read(int.from_bytes(head, "big"))
                header, start = RequestHeader.decode(frame)
                if header.api is Api.API_VERSIONS:
                    answer = self._versions_answer(header, frame, start)
                else:
                    request = request_type(header.api).decode(frame, header.version, start)
                    self.asked.append((request, header.version))
                    answer = self._answer(request)
                if answer is None:
                    return
                if isinstance(answer, Response):
                    answer = b"".join(response_frame(answer, header.version, header.correlation_id))  # type: ignore[arg-type]
                accepted.sendall(answer)

    def _versions_answer(self, header: RequestHeader, frame: bytes, start: int) -> bytes | Response | None:
        if self._scripts.get(Api.API_VERSIONS):
            request = (
                ApiVersionsRequest.decode(frame, header.version, start)
                if header.version in ApiVersionsRequest.VERSIONS
                else ApiVersionsRequest()
            )
            return self._scripted(Api.API_VERSIONS, request)
        return versions_answer(self.versions)

    def _answer(self, request: Request) -> Response | bytes | None:
        if self._scripts.get(request.API):
            return self._scripted(request.API, request)
        match request.API:
            case Api.METADATA:
                return self.metadata()
            case Api.LIST_OFFSETS:
                return found(request)
            case Api.FETCH:
                return fetched()
        raise AssertionError(f"{request.API} is not scripted")

    def _scripted(self, api: Api, request: Request) -> Response | bytes | None:
        answer = self._scripts[api].popleft()
        return answer(request) if callable(answer) else answer

    def metadata(self, *, topic_error: int = 0, leader_id: int | None = None, **more: Any) -> MetadataResponse:
        """Return the metadata of the cluster."""
        leader = self.leader_id if leader_id is None else leader_id
        rows = [
            MetadataResponse.Topic.Partition(
                partition_index=index, leader_id=leader, leader_epoch=self.epoch, replica_nodes=[1], isr_nodes=[1]
            )
            for index in range(PARTITIONS)
        ]
        brokers = [
            MetadataResponse.Broker(node_id=node_id, host="127.0.0.1", port=each.port)
            for node_id, each in zip(itertools.count(1), [self, *self.others], strict=False)
        ]
        topic = MetadataResponse.Topic(name=TOPIC, topic_id=TOPIC_ID, partitions=rows, error_code=topic_error)
        return MetadataResponse(brokers=brokers, topics=[topic], **more)


def versions_answer(versions: dict[Api, tuple[int, int]], error_code: int = 0) -> ApiVersionsResponse:
    rows = [
        ApiVersionsResponse.ApiVersion(api_key=api, min_version=low, max_version=high)
        for api, (low, high) in versions.items()
    ]
    return ApiVersionsResponse(api_keys=rows, error_code=error_code)


def found(request: Any, error_code: int = 0) -> ListOffsetsResponse:
    """Return a ListOffsets response in which the offset of each partition is its timestamp."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsResponse.Topic(
                name=topic.name,
                partitions=[
                    ListOffsetsResponse.Topic.Partition(
                        partition_index=row.partition_index,
                        offset=max(row.timestamp, -1),
                        timestamp=max(row.timestamp, -1),
                        leader_epoch=5,
                        error_code=error_code,
                    )
                    for row in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def fetched(
    records: bytes | None = b"",
    *,
    error_code: int = 0,
    partition: int = 0,
    aborted: list[tuple[int, int]] | None = None,
    high_watermark: int = 1000,
    whole_error: int = 0,
    preferred: int = -1,
) -> FetchResponse:
    """Return a Fetch response for one partition."""
    row = FetchResponse.Topic.Partition(
        partition_index=partition,
        error_code=error_code,
        high_watermark=high_watermark,
        last_stable_offset=high_watermark,
        log_start_offset=0,
        preferred_read_replica=preferred,
        aborted_transactions=[
            FetchResponse.Topic.Partition.AbortedTransaction(producer_id=producer_id, first_offset=first_offset)
            for producer_id, first_offset in aborted or ()
        ],
        records=records,
    )
    topic = FetchResponse.Topic(topic=TOPIC, topic_id=TOPIC_ID, partitions=[row])
    return FetchResponse(responses=[] if whole_error else [topic], error_code=whole_error)
