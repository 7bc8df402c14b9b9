"""GetTelemetrySubscriptions v0: return the metrics that a client should push, and the push interval (KIP-714).

A client without an instance id receives a new one.

Source: org.apache.kafka.server.ClientMetricsManager.processGetTelemetrySubscriptionRequest.
"""

from kafkalet.broker.cluster.metadata import ZERO_ID, new_topic_id
from kafkalet.broker.context import Context
from kafkalet.protocol.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from kafkalet.protocol.records.codecs import Codec

ACCEPTED = [Codec.ZSTD, Codec.LZ4, Codec.GZIP, Codec.SNAPPY]


def handle(request: GetTelemetrySubscriptionsRequest, context: Context) -> GetTelemetrySubscriptionsResponse:
    client_id = request.client_instance_id
    if client_id == ZERO_ID:
        client_id = new_topic_id()
    subscription = context.broker.telemetry.ask(client_id, context)
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=client_id,
        subscription_id=subscription.id,
        accepted_compression_types=[int(codec) for codec in ACCEPTED],
        push_interval_ms=subscription.interval_ms,
        telemetry_max_bytes=context.node.config.telemetry_max_bytes,
        delta_temporality=True,
        requested_metrics=subscription.metrics,
    )
