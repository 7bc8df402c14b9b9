"""Versions of requests against those that a broker advertised."""

from typing import Any

from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalet.protocol.messages.metadata import MetadataRequest
from kafkalet_conformance.clients.observing.rules.versions import AdvertisedVersions

from .synthetic import Exchanges

ASK = ApiVersionsRequest(client_software_name="c", client_software_version="1")
ALL = MetadataRequest(topics=None)


def versions(error: Code = Code.NONE, **advertised: Any) -> ApiVersionsResponse:
    keys = {"metadata": 3, "api_versions": 18}
    return ApiVersionsResponse(
        error_code=error,
        api_keys=[
            ApiVersionsResponse.ApiVersion(api_key=keys[name], min_version=low, max_version=high)
            for name, (low, high) in advertised.items()
        ],
    )


def test_advertised_version_is_correct() -> None:
    exchanges = Exchanges(AdvertisedVersions())
    exchanges.ask(ASK, 3, versions(metadata=(1, 5)))
    exchanges.sends(ALL, 5)
    assert exchanges.found == []


def test_version_that_was_not_advertised_is_found() -> None:
    exchanges = Exchanges(AdvertisedVersions())
    exchanges.ask(ASK, 3, versions(metadata=(1, 5)))
    exchanges.sends(ALL, 6)
    assert exchanges.found == ["versions-advertised"]
    assert exchanges.texts == ["Metadata v6 is sent, but the broker advertised v1 to v5"]


def test_api_that_was_not_advertised_is_found() -> None:
    exchanges = Exchanges(AdvertisedVersions())
    exchanges.ask(ASK, 3, versions(api_versions=(0, 3)))
    exchanges.sends(ALL, 6)
    assert exchanges.found == ["versions-advertised"]


def test_request_before_api_versions_is_noted_once() -> None:
    exchanges = Exchanges(AdvertisedVersions())
    exchanges.sends(ALL, 1)
    exchanges.sends(ALL, 1)
    assert exchanges.found == ["versions-unknown"]


def test_versions_of_another_connection_to_the_broker_are_known() -> None:
    exchanges = Exchanges(AdvertisedVersions())
    exchanges.ask(ASK, 3, versions(metadata=(1, 5)))
    exchanges.closes(1)
    exchanges.sends(ALL, 6)
    assert exchanges.found == ["versions-unknown", "versions-advertised"]


def test_altered_response_is_not_known() -> None:
    exchanges = Exchanges(AdvertisedVersions())
    exchanges.answers(exchanges.sends(ASK, 3), versions(metadata=(1, 5)), is_altered=True)
    exchanges.sends(ALL, 6)
    assert exchanges.found == ["versions-unknown"]


def test_refused_version_is_found_although_the_client_requested_no_versions() -> None:
    exchanges = Exchanges(AdvertisedVersions())
    exchanges.is_refused(exchanges.sends(ALL, 1), "Metadata v1 is not served, only v4 to v13")
    assert exchanges.found == ["versions-unknown", "versions-advertised"]


def test_version_that_was_advertised_to_another_connection_is_found_once() -> None:
    exchanges = Exchanges(AdvertisedVersions())
    exchanges.ask(ASK, 3, versions(metadata=(4, 5)))
    exchanges.is_refused(exchanges.sends(ALL, 1), "Metadata v1 is not served, only v4 to v5")
    assert exchanges.found == ["versions-advertised"]


def test_versions_may_be_tried_if_the_broker_does_not_serve_api_versions() -> None:
    exchanges = Exchanges(AdvertisedVersions())
    exchanges.is_refused(exchanges.sends(ASK, 0), "ApiVersions is not served")
    exchanges.is_refused(exchanges.sends(ALL, 5), "Metadata v5 is not served, only v0 to v0")
    assert exchanges.found == ["versions-unknown"]


def test_downgrade_to_a_listed_version_is_correct() -> None:
    exchanges = Exchanges(AdvertisedVersions())
    refusal = versions(Code.UNSUPPORTED_VERSION, api_versions=(0, 3))
    exchanges.answers(exchanges.sends(ASK, 5), refusal, version=0)
    exchanges.sends(ASK, 3)
    assert exchanges.found == []


def test_repetition_of_a_refused_version_is_found() -> None:
    exchanges = Exchanges(AdvertisedVersions())
    sent = exchanges.sends(ASK, 5)
    exchanges.answers(sent, versions(Code.UNSUPPORTED_VERSION, api_versions=(0, 3)), version=0)
    exchanges.sends(ASK, 5)
    assert exchanges.found == ["versions-downgrade"]


def test_each_lower_version_may_be_tried_if_the_broker_lists_none() -> None:
    exchanges = Exchanges(AdvertisedVersions())
    for version in (2, 1):
        exchanges.answers(exchanges.sends(ASK, version), versions(Code.UNSUPPORTED_VERSION), version=0)
    exchanges.ask(ASK, 0, versions(metadata=(1, 5)))
    assert exchanges.found == []


def test_refused_version_is_found_if_broker_lists_none() -> None:
    exchanges = Exchanges(AdvertisedVersions())
    exchanges.answers(exchanges.sends(ASK, 2), versions(Code.UNSUPPORTED_VERSION), version=0)
    exchanges.sends(ASK, 2)
    assert exchanges.texts == ["v2 follows, but v2 was refused; a lower version was expected"]


def test_lower_version_that_is_not_listed_is_found() -> None:
    exchanges = Exchanges(AdvertisedVersions())
    refusal = versions(Code.UNSUPPORTED_VERSION, api_versions=(3, 3))
    exchanges.answers(exchanges.sends(ASK, 4), refusal, version=0)
    exchanges.sends(ASK, 2)
    assert exchanges.texts == ["v2 follows, but v4 was refused and v3 to v3 are supported"]
