"""The error response of any API, for requests that no handler serves.

Source: org.apache.kafka.common.requests.AbstractRequest.getErrorResponse.
"""

from importlib import import_module
from typing import Any

from kafkalet.broker.client import CloseConnection
from kafkalet.broker.context import Context
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.fields import REQUIRED, Field
from kafkalet.protocol.frame import RequestHeader, response_frame
from kafkalet.protocol.messages import request_type, response_type
from kafkalet.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafkalet.protocol.messages.init_producer_id import InitProducerIdResponse
from kafkalet.protocol.messages.metadata import MetadataResponse
from kafkalet.protocol.schema import Response
from kafkalet.protocol.wire import Chunk

_NONE = -1


def error_response(frame: bytes, context: Context, error: KafkaError) -> list[Chunk]:
    """Return the response with an error to the request in a frame, with its size and header.

    Return an empty list if the response of the API has no place for the error. Raises CloseConnection and DecodeError.
    """
    header, start = RequestHeader.decode(frame)
    api, version = header.api, header.version
    served = context.broker.api_versions.get(api)
    request = None
    if served is not None and served[0] <= version <= served[1]:
        request = request_type(api).decode(frame, version, start)
    elif api is Api.API_VERSIONS:  # its body is not read, and the response has version 0
        version = 0
    else:
        raise CloseConnection(f"{api} v{version} is not served")
    context.api, context.version, context.correlation_id = api, version, header.correlation_id
    refuse = getattr(import_module(f"kafkalet.broker.apis.{api.module}"), "refuse", None)
    answer = _error_of(api, request, version, error) if refuse is None else refuse(request, context, error)
    return [] if answer is None else response_frame(answer, version, header.correlation_id)


def _error_of(api: Api, request: Any, version: int, error: KafkaError) -> Response | None:
    """Return the error response of an API whose handler has none, or None if there is no place for the error."""
    if api is Api.METADATA:
        topics = [
            MetadataResponse.Topic(error_code=error.code, name=topic.name, partitions=[])
            for topic in request.topics or []
        ]
        return MetadataResponse(brokers=[], controller_id=_NONE, topics=topics)
    if api is Api.FIND_COORDINATOR and version < 4:
        return FindCoordinatorResponse(
            error_code=error.code, error_message=error.message, node_id=_NONE, host="", port=_NONE
        )
    if api is Api.INIT_PRODUCER_ID:
        return InitProducerIdResponse(error_code=error.code, producer_id=_NONE, producer_epoch=_NONE)
    response = response_type(api)
    if "error_code" not in {field.name for field in response.FIELDS}:
        return None
    required = {field.name: _empty(field) for field in response.FIELDS if field.default is REQUIRED}
    return response(**required | {"error_code": error.code})


def _empty(field: Field) -> Any:
    kind = "" if field.wire is None else field.wire.name
    return [] if field.array else {"string": "", "bytes": b""}.get(kind, 0)
