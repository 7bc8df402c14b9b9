"""PushTelemetry v0: accept the metrics of a client (KIP-714). The broker validates the request and drops the metrics.

Source: org.apache.kafka.server.ClientMetricsManager.processPushTelemetryRequest.
"""

from kafkalet.broker.cluster.metadata import ZERO_ID
from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse
from kafkalet.protocol.records.codecs import Codec


def handle(request: PushTelemetryRequest, context: Context) -> PushTelemetryResponse:
    client_id = request.client_instance_id
    if client_id == ZERO_ID:
        raise KafkaError(Code.INVALID_REQUEST)
    telemetry = context.broker.telemetry
    telemetry.push(client_id, request.subscription_id, request.terminating, context)
    code = _refusal(request, context.node.config.telemetry_max_bytes)
    telemetry.failed(client_id, code)
    return PushTelemetryResponse(error_code=code)


def _refusal(request: PushTelemetryRequest, max_bytes: int) -> Code:
    if request.compression_type not in [int(codec) for codec in Codec]:
        return Code.UNSUPPORTED_COMPRESSION_TYPE
    if len(request.metrics) > max_bytes:
        return Code.TELEMETRY_TOO_LARGE
    return Code.NONE
