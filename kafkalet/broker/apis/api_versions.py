"""ApiVersions v0-5: list the APIs and versions that this broker supports (KIP-35).

v1  adds the throttle time
v3  adds the client's name and version (KIP-511) and the broker's features (KIP-584)
v4  includes features with a minimum version of 0 (KAFKA-17492)
v5  adds the cluster id and node id that the client expects to reach, either both or neither; a different broker
    returns REBOOTSTRAP_REQUIRED (KIP-1242)

The router itself answers requests with an unsupported version, so they never reach this handler.

Source: kafka.server.KafkaApis.handleApiVersionsRequest, ApiVersionsResponse; v5 as observed with Kafka 4.4.
"""

import re

from kafkalet.broker.cluster.features import Features
from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

_LEGAL_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_NO_NODE = -1


def handle(request: ApiVersionsRequest, context: Context) -> ApiVersionsResponse:
    code = _refusal(request, context)
    if code is not Code.NONE:
        return ApiVersionsResponse(error_code=code, api_keys=[])
    response = ApiVersionsResponse(
        error_code=Code.NONE,
        api_keys=[
            ApiVersionsResponse.ApiVersion(api_key=api, min_version=lowest, max_version=highest)
            for api, (lowest, highest) in context.broker.role.advertised(context.release.name).items()
        ],
    )
    if context.version >= 3:
        _add_features(response, context)
    if context.authenticator is not None:
        context.authenticator.versions_answered()
    return response


def is_cacheable(response: ApiVersionsResponse) -> bool:
    return response.error_code == Code.NONE


def _refusal(request: ApiVersionsRequest, context: Context) -> Code:
    if context.version >= 3 and not (
        _LEGAL_SOFTWARE.fullmatch(request.client_software_name)
        and _LEGAL_SOFTWARE.fullmatch(request.client_software_version)
    ):
        return Code.INVALID_REQUEST
    if (request.cluster_id is None) != (request.node_id == _NO_NODE):
        return Code.INVALID_REQUEST
    if context.is_at_controller:  # it checks neither id
        return Code.NONE
    if request.cluster_id is not None and (
        request.cluster_id != context.metadata.cluster_id or request.node_id != context.node.node_id
    ):
        return Code.REBOOTSTRAP_REQUIRED
    return Code.NONE


def _add_features(response: ApiVersionsResponse, context: Context) -> None:
    lowest_level = 0 if context.version >= 4 else 1
    features = Features(context.release, context.metadata)
    response.supported_features = [
        ApiVersionsResponse.SupportedFeature(name=feature.name, min_version=feature.lowest, max_version=feature.highest)
        for feature in features.supported.values()
        if feature.highest and feature.lowest >= lowest_level
    ]
    response.finalized_features_epoch = features.epoch
    response.finalized_features = [
        ApiVersionsResponse.FinalizedFeature(name=name, max_version_level=level, min_version_level=level)
        for name, level in features.finalized()
    ]
