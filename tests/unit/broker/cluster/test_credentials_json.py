"""`kafkalet.broker.cluster.credentials_json`: credentials and tokens are saved, loaded, and never shown."""

import json
from typing import Any

import pytest

from kafkalet.broker.cluster.metadata import MetadataImage
from kafkalet.broker.cluster.metadata_store import MetadataDamaged, MetadataStore
from kafkalet.broker.security.delegation_tokens import DelegationToken
from kafkalet.broker.security.principal import Principal, user
from kafkalet.broker.security.scram_credentials import ScramCredential, ScramMechanism

CREDENTIAL = ScramCredential(b"\0salt", b"stored key", b"server key", 5000)
TOKEN = DelegationToken("id", user("a"), user("b"), (user("c"), Principal("User", "d:e")), 1, 3, -2)


def image() -> MetadataImage:
    made = MetadataImage("a cluster")
    made.scram_credentials = {("ä", ScramMechanism.SCRAM_SHA_512): CREDENTIAL}
    made.delegation_tokens = {"id": TOKEN}
    return made


def decoded(change: Any = None) -> MetadataImage:
    saved = json.loads(MetadataStore.encode(image(), 0))
    if change is not None:
        change(saved)
    return MetadataStore.decode(json.dumps(saved).encode(), "the file")[0]


def test_saved_credentials_and_tokens_are_loaded() -> None:
    found = decoded()
    assert found.scram_credentials == image().scram_credentials
    assert found.delegation_tokens == image().delegation_tokens
    assert isinstance(found.delegation_tokens["id"].owner, Principal)
    [(_, mechanism)] = found.scram_credentials
    assert isinstance(mechanism, ScramMechanism)


def test_file_without_credentials_does_not_mention_them() -> None:
    assert b"scram" not in MetadataStore.encode(MetadataImage(""), 0)


@pytest.mark.parametrize(
    ("place", "value"),
    [(place, value) for place in range(6) for value in (None, 7.5, {}, [])]
    + [(place, value) for place in range(1, 5) for value in ("!", 99)],
)
def test_invalid_credential_is_refused_without_showing_it(place: int, value: Any) -> None:
    def change(saved: Any) -> None:
        saved["scram_credentials"][0][place] = value

    with pytest.raises(MetadataDamaged) as raised:
        decoded(change)
    assert str(raised.value) == "the file: SCRAM credential 0 is invalid"


@pytest.mark.parametrize("place", range(1, 7))
@pytest.mark.parametrize("value", [None, 7.5, {"a": 1}, "!", [["User"]]])
def test_invalid_token_is_refused(place: int, value: Any) -> None:
    def change(saved: Any) -> None:
        saved["delegation_tokens"][0][place] = value

    with pytest.raises(MetadataDamaged, match="the file: delegation token 0 is invalid"):
        decoded(change)


@pytest.mark.parametrize("entry", [[], None, 5, "x", [[]]])
@pytest.mark.parametrize("name", ["scram_credentials", "delegation_tokens"])
def test_invalid_entry_is_refused(name: str, entry: Any) -> None:
    with pytest.raises(MetadataDamaged, match="0 is invalid"):
        decoded(lambda saved: saved.update({name: [entry]}))
