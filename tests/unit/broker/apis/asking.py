"""Calls request handlers directly, without a socket. Responses are encoded and decoded in the requested version."""

import importlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kafkalet.broker.context import Context
from kafkalet.protocol.api import Api
from kafkalet.protocol.messages import request_type, response_type
from kafkalet.tasks.task import finish
from kafkalet.testing.cluster import Cluster


class NoClient:
    """A client without a connection."""

    is_closed = False
    when_closed: Callable[[], object] | None = None

    def close(self, reason: str) -> None:
        raise AssertionError(f"the connection was closed: {reason}")

    def mute(self, ms: float) -> None:
        raise AssertionError(f"the connection was muted for {ms} ms")


class Asking:
    """Calls the request handlers of the brokers of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def __call__(self, api: Api, version: int, node: int = 1, **fields: Any) -> Any:
        """Return the response of a broker as plain data. `fields` are those of the request, with structs as dicts."""

        def handle() -> Any:
            answer = self.begin(api, version, node, **fields)
            return finish(answer) if inspect.iscoroutine(answer) else answer

        return as_returned(api, version, self.cluster._server.call(handle))

    def begin(self, api: Api, version: int, node: int = 1, **fields: Any) -> Any:
        """Call the handler in the thread of the cluster, and return its response or a coroutine."""
        context = Context(self.cluster._server.brokers[node], NoClient(), ("127.0.0.1", 1), "PLAINTEXT")
        context.api, context.version, context.client_id, context.correlation_id = api, version, "tester", 1
        handler = importlib.import_module(f"kafkalet.broker.apis.{api.module}")
        return handler.handle(as_received(api, version, fields), context)


@contextmanager
def asking(brokers: int = 1, **options: Any) -> Iterator[Asking]:
    with Cluster(brokers, **options) as cluster:
        yield Asking(cluster)


def as_received(api: Api, version: int, fields: dict[str, Any]) -> Any:
    """Return a request with these fields as a broker decodes it in this version."""
    request = request_type(api)
    return request.decode(_struct(request, fields).encode(version), version)


def as_returned(api: Api, version: int, answer: Any) -> Any:
    """Return a response as plain data, as a client decodes it in this version."""
    return plain(response_type(api).decode(answer.encode(version), version))


def _struct(cls: Any, fields: dict[str, Any]) -> Any:
    structs = {field.name: field.struct for field in cls.FIELDS if field.struct is not None}
    return cls(**{name: _value(structs.get(name), value) for name, value in fields.items()})


def _value(struct: Any, value: Any) -> Any:
    if struct is None or value is None:
        return value
    return [_struct(struct, item) for item in value] if isinstance(value, list) else _struct(struct, value)


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(item) for item in value]
    if hasattr(value, "FIELDS"):
        return {field.name: plain(getattr(value, field.name)) for field in value.FIELDS}
    return value
