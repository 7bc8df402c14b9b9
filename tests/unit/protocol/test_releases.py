"""Compares with ApiVersions responses recorded from client listeners of real Kafka releases."""

import json
from pathlib import Path

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.releases import NEWEST, RELEASES, advertised, versions_of

RECORDED: dict[str, dict[str, list[int]]] = json.loads(
    (Path(__file__).parent / "vectors" / "api_versions.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("release", RECORDED)
def test_advertised_versions_equal_those_recorded(release: str) -> None:
    assert {str(int(api)): list(versions) for api, versions in advertised(release).items()} == RECORDED[release]


@pytest.mark.parametrize("release", RELEASES)
def test_supported_versions_are_advertised(release: str) -> None:
    listed = advertised(release)
    telemetry = {Api.GET_TELEMETRY_SUBSCRIPTIONS, Api.PUSH_TELEMETRY}
    for api, versions in versions_of(release).items():
        if api not in telemetry:
            assert listed[api].low <= versions.low
            assert listed[api].high == versions.high


@pytest.mark.parametrize("release", RELEASES)
def test_only_client_apis_are_supported(release: str) -> None:
    assert all(api.client_facing for api in versions_of(release))


def test_produce_is_advertised_from_version_0_since_4_0() -> None:
    assert (advertised("3.9")[Api.PRODUCE], versions_of("3.9")[Api.PRODUCE]) == ((0, 11), (0, 11))
    assert (advertised("4.4")[Api.PRODUCE], versions_of("4.4")[Api.PRODUCE]) == ((0, 13), (3, 13))


def test_newest_supports_all_versions_of_all_releases() -> None:
    for api, versions in versions_of(NEWEST).items():
        served = [versions_of(release)[api] for release in RELEASES[:-1] if api in versions_of(release)]
        assert versions == (min(low for low, _ in served), max(high for _, high in served)), api
    assert versions_of(NEWEST).keys() == {api for api in Api if api.client_facing}


def test_first_release_supports_only_fetch_v0() -> None:
    assert versions_of("0.8.2")[Api.FETCH] == (0, 0)
    assert Api.API_VERSIONS not in versions_of("0.8.2")


def test_removed_api_may_return_in_later_release() -> None:
    had = [release for release in RELEASES if Api.DESCRIBE_USER_SCRAM_CREDENTIALS in versions_of(release)]
    assert had[:3] == ["2.7", "2.8", "3.0"]
    assert "3.4" not in had
    assert "3.5" in had


def test_error_for_unknown_release_lists_the_supported_ones() -> None:
    with pytest.raises(LookupError, match=r"'3.10'.*0\.8\.2.*newest"):
        versions_of("3.10")
