"""`kafkalet.broker.apis.update_features`: changes take effect and survive a restart."""

from pathlib import Path
from typing import Any

import pytest

from kafkalet.protocol.api import Api

from .asking import Asking, asking

UPGRADE, DOWNGRADE = 1, 2


def update(ask: Asking, *updates: tuple[str, int, int], version: int = 2, validate_only: bool = False) -> Any:
    wanted = [{"feature": name, "max_version_level": level, "upgrade_type": kind} for name, level, kind in updates]
    return ask(Api.UPDATE_FEATURES, version, feature_updates=wanted, validate_only=validate_only)


def finalized(ask: Asking) -> dict[str, int]:
    answer = ask(Api.API_VERSIONS, 4, client_software_name="test", client_software_version="1")
    return {feature["name"]: feature["max_version_level"] for feature in answer["finalized_features"]}


def test_change_takes_effect_for_clients_and_the_cluster() -> None:
    with asking() as ask:
        assert update(ask, ("transaction.version", 1, DOWNGRADE))["error_code"] == 0
        assert finalized(ask)["transaction.version"] == 1
        assert ask.cluster._server.nodes[1].feature_level("transaction.version") == 1


def test_change_survives_a_restart(tmp_path: Path) -> None:
    with asking(data_dir=tmp_path) as ask:
        update(ask, ("group.version", 0, DOWNGRADE))
    with asking(data_dir=tmp_path) as ask:
        assert ask.cluster._server.nodes[1].feature_level("group.version") == 0
        assert ask.cluster._server.nodes[1].feature_level("transaction.version") == 2
        assert "group.version" not in finalized(ask)


def test_single_refusal_refuses_all_since_4_0() -> None:
    with asking() as ask:
        assert update(ask, ("transaction.version", 1, DOWNGRADE), ("nope", 1, UPGRADE))["error_code"] == 95
        assert ask.cluster._server.nodes[1].feature_level("transaction.version") == 2


def test_features_change_independently_before_4_0() -> None:
    with asking(version="3.9") as ask:
        answer = update(ask, ("nope", 1, UPGRADE), ("metadata.version", 20, DOWNGRADE), version=1)
        assert [(result["feature"], result["error_code"]) for result in answer["results"]] == [
            ("metadata.version", 0),
            ("nope", 95),
        ]
        assert ask.cluster._server.nodes[1].feature_level("metadata.version") == 20


def test_validate_only_does_not_change_the_level() -> None:
    with asking() as ask:
        assert update(ask, ("transaction.version", 1, DOWNGRADE), validate_only=True)["error_code"] == 0
        assert ask.cluster._server.nodes[1].feature_level("transaction.version") == 2


@pytest.mark.parametrize(("name", "level"), [("nope", 1), ("nope", 0), ("", 1)])
def test_every_change_fails_with_zookeeper(name: str, level: int) -> None:
    with asking(version="2.8") as ask:
        [result] = update(ask, (name, level, UPGRADE), version=0)["results"]
        assert (result["feature"], result["error_code"]) == (name, 42)


def test_validate_only_does_not_change_finalized_features() -> None:
    with asking() as ask:
        assert update(ask, ("transaction.version", 1, DOWNGRADE), validate_only=True)["error_code"] == 0
        assert finalized(ask)["transaction.version"] == 2


@pytest.mark.parametrize(
    ("level", "allow_downgrade", "message"),
    [
        (1, False, "Could not apply finalized feature update because the provided feature is not supported."),
        (0, True, "Can not delete non-existing finalized feature."),
    ],
)
def test_refusal_with_zookeeper_explains_the_change(level: int, allow_downgrade: bool, message: str) -> None:
    with asking(version="2.8") as ask:
        wanted = {"feature": "f", "max_version_level": level, "allow_downgrade": allow_downgrade}
        [result] = ask(Api.UPDATE_FEATURES, 0, feature_updates=[wanted])["results"]
        assert result["error_message"] == message
