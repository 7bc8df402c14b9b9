"""`kafkalet.broker.apis.api_versions`: versions, features and refused clients."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafkalet.broker.apis.api_versions import handle
from kafkalet.broker.cluster.metadata import MetadataImage
from kafkalet.broker.config.release import Release
from kafkalet.broker.context import Context
from kafkalet.broker.served import Role
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalet.protocol.releases import RELEASES, versions_of

LISTED = (Api.PRODUCE, Api.METADATA, Api.API_VERSIONS)


def ask(
    version: int = 4,
    release: str = "4.4",
    name: str = "my-client",
    software_version: str = "1.0",
    cluster_id: str | None = None,
    node_id: int = -1,
) -> ApiVersionsResponse:
    context = SimpleNamespace(
        broker=SimpleNamespace(role=Role.BROKER),
        is_at_controller=False,
        node=SimpleNamespace(node_id=3),
        metadata=MetadataImage("the-cluster"),
        release=Release.of(release),
        version=version,
        authenticator=None,
    )
    request = ApiVersionsRequest(
        client_software_name=name, client_software_version=software_version, cluster_id=cluster_id, node_id=node_id
    )
    response = handle(request, cast(Any, context))
    return ApiVersionsResponse.decode(response.encode(version), version)


def test_context_of_these_tests_has_the_attributes_of_a_real_one() -> None:
    assert {"broker", "is_at_controller", "node", "metadata", "release", "version", "authenticator"} <= set(
        dir(Context)
    )


def listed(response: ApiVersionsResponse) -> list[tuple[int, int, int]]:
    return [(key.api_key, key.min_version, key.max_version) for key in response.api_keys if key.api_key in LISTED]


@pytest.mark.parametrize("version", range(6))
def test_versions_of_the_release_are_listed_by_api_key(version: int) -> None:
    assert listed(ask(version, "3.9")) == [(0, 0, 11), (3, 0, 12), (18, 0, 4)]


def test_kafka_4_lists_produce_v0_although_it_supports_v3_and_later() -> None:
    assert versions_of("4.4")[Api.PRODUCE].low == 3
    assert listed(ask(4, "4.4"))[0] == (0, 0, 13)


@pytest.mark.parametrize("name", ["a", "a-b.c", "librdkafka", "0.9", "A1"])
def test_valid_software_name_is_accepted(name: str) -> None:
    assert ask(3, name=name).error_code == Code.NONE
    assert ask(3, software_version=name).error_code == Code.NONE


@pytest.mark.parametrize("name", ["", "a b", "-1", "a-", ".", "a\n", "ü", "a_b"])
@pytest.mark.parametrize("version", [3, 4, 5])
def test_invalid_software_name_returns_invalid_request_without_versions(name: str, version: int) -> None:
    for response in (ask(version, name=name), ask(version, software_version=name)):
        assert response == ApiVersionsResponse(error_code=Code.INVALID_REQUEST, api_keys=[])


def test_software_name_is_not_checked_before_v3() -> None:
    assert ask(2, name="").error_code == Code.NONE


@pytest.mark.parametrize(
    ("cluster_id", "node_id", "code"),
    [
        (None, -1, Code.NONE),
        ("the-cluster", 3, Code.NONE),
        ("the-cluster", 99, Code.REBOOTSTRAP_REQUIRED),
        ("another", 3, Code.REBOOTSTRAP_REQUIRED),
        ("", 3, Code.REBOOTSTRAP_REQUIRED),
        ("the-cluster", -1, Code.INVALID_REQUEST),
        ("another", -1, Code.INVALID_REQUEST),
        ("", -1, Code.INVALID_REQUEST),
        (None, 3, Code.INVALID_REQUEST),
        (None, -2, Code.INVALID_REQUEST),
    ],
)
def test_client_that_expects_another_broker_receives_rebootstrap_required(
    cluster_id: str | None, node_id: int, code: Code
) -> None:
    response = ask(5, cluster_id=cluster_id, node_id=node_id)
    assert response.error_code == code
    assert bool(response.api_keys) is (code is Code.NONE)


def features(response: ApiVersionsResponse) -> tuple[dict[str, tuple[int, int]], dict[str, int], int]:
    return (
        {feature.name: (feature.min_version, feature.max_version) for feature in response.supported_features},
        {feature.name: feature.max_version_level for feature in response.finalized_features},
        response.finalized_features_epoch,
    )


def test_features_of_3_9_match_the_recording() -> None:
    assert features(ask(4, "3.9")) == (
        {"kraft.version": (0, 1), "metadata.version": (1, 21)},
        {"metadata.version": 21},
        8,
    )


def test_features_of_4_4_match_the_recording() -> None:
    assert features(ask(4, "4.4")) == (
        {
            "group.version": (0, 1),
            "kraft.version": (0, 1),
            "metadata.version": (7, 33),
            "share.version": (0, 2),
            "streams.version": (0, 1),
            "transaction.version": (0, 2),
            "eligible.leader.replicas.version": (0, 1),
        },
        {
            "group.version": 1,
            "streams.version": 1,
            "transaction.version": 2,
            "eligible.leader.replicas.version": 1,
            "share.version": 2,
            "metadata.version": 33,
        },
        14,
    )


def test_features_with_minimum_version_0_are_left_out_before_v4() -> None:
    supported, finalized, _ = features(ask(3, "4.4"))
    assert supported == {"metadata.version": (7, 33)}
    assert len(finalized) == 6


@pytest.mark.parametrize(("release", "epoch"), [("2.8", 0), ("3.2", 0), ("2.6", -1)])
def test_cluster_with_zookeeper_has_no_features(release: str, epoch: int) -> None:
    assert features(ask(3, release)) == ({}, {}, epoch)


@pytest.mark.parametrize("release", [release for release in RELEASES if release not in ("0.8.2", "0.9")])
def test_every_release_serves_api_versions(release: str) -> None:
    supported, finalized, _ = features(ask(4, release))
    assert all(supported[name][0] <= level <= supported[name][1] for name, level in finalized.items())


def test_newest_has_the_features_of_the_last_release() -> None:
    assert features(ask(4, "newest")) == features(ask(4, RELEASES[-2]))
