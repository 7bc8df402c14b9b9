"""`kafkalet.broker.security.delegation_tokens`: settings, secrets, credentials and the removal of expired tokens."""

import math
from base64 import b64encode
from collections.abc import Mapping

import pytest

from kafkalet.broker.config.release import Release
from kafkalet.broker.security.delegation_tokens import DelegationToken, DelegationTokens, TokenSettings
from kafkalet.broker.security.principal import Principal, user
from kafkalet.broker.security.scram_credentials import ScramMechanism, credential_of_password
from kafkalet.clock import ManualClock
from kafkalet.properties import InvalidProperty
from kafkalet.protocol.errors import Code, KafkaError

NOW = 1_700_000_000_000
SHA_256, SHA_512 = ScramMechanism


ENABLED = TokenSettings("key")


def tokens_at(clock: ManualClock, settings: TokenSettings = ENABLED) -> DelegationTokens:
    known: dict[str, DelegationToken] = {}

    def change(changed: Mapping[str, DelegationToken | None]) -> None:
        known.update({name: token for name, token in changed.items() if token is not None})
        for name in [name for name, token in changed.items() if token is None]:
            del known[name]

    return DelegationTokens(known, settings, clock, Release.of("4.4"), change)


def test_settings_have_defaults_of_kafka() -> None:
    assert TokenSettings.of({}, knows_master_key=True) == ("", 604_800_000, 86_400_000, 3_600_000)


@pytest.mark.parametrize(("knows", "key"), [(True, "master"), (False, "")])
def test_master_key_is_used_only_if_known(knows: bool, key: str) -> None:
    given = {"delegation.token.master.key": "master"}
    assert TokenSettings.of(given, knows_master_key=knows).secret_key == key
    assert TokenSettings.of(given | {"delegation.token.secret.key": "s"}, knows_master_key=knows).secret_key == "s"


@pytest.mark.parametrize("value", ["0", "-1", "x", "1.5", str(2**63)])
@pytest.mark.parametrize("name", ["max.lifetime", "expiry.time", "expiry.check.interval"])
def test_invalid_period_is_refused(name: str, value: str) -> None:
    with pytest.raises(InvalidProperty, match=f"delegation.token.{name}.ms"):
        TokenSettings.of({f"delegation.token.{name}.ms": value}, knows_master_key=False)


def test_settings_do_not_show_secret_key() -> None:
    assert repr(TokenSettings("the key")) == "TokenSettings(enabled=True)"


def test_token_without_secret_key_is_refused() -> None:
    with pytest.raises(KafkaError) as raised:
        tokens_at(ManualClock(NOW), TokenSettings()).create("t", user("a"), user("a"), (), -1)
    assert raised.value.code == Code.DELEGATION_TOKEN_AUTH_DISABLED


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_credential_is_derived_from_the_secret_in_base64(mechanism: ScramMechanism) -> None:
    tokens = tokens_at(ManualClock(NOW))
    tokens.create("t", user("a"), user("b"), (), -1)
    found = tokens.token_credential(mechanism, "t")
    assert found is not None
    credential, principal = found
    assert credential == credential_of_password(mechanism, b64encode(tokens.secret("t")).decode(), credential.salt)
    assert principal == user("a")
    assert tokens.token_credential(mechanism, "t") == found


def test_owner_of_another_type_logs_in_as_user() -> None:
    tokens = tokens_at(ManualClock(NOW))
    tokens.create("t", Principal("Group", "g"), user("b"), (), -1)
    found = tokens.token_credential(SHA_256, "t")
    assert found is not None
    assert found[1] == user("g")


def test_unknown_token_has_no_credential() -> None:
    assert tokens_at(ManualClock(NOW)).token_credential(SHA_512, "t") is None


def test_removed_token_has_no_credential() -> None:
    clock = ManualClock(NOW)
    tokens = tokens_at(clock)
    tokens.create("t", user("a"), user("a"), (), 1000)
    clock.advance(milliseconds=1000)
    tokens.remove_expired()
    assert tokens.token_credential(SHA_256, "t") is not None
    clock.advance(milliseconds=1)
    assert tokens.token_credential(SHA_256, "t") is not None
    tokens.remove_expired()
    assert tokens.token_credential(SHA_256, "t") is None


def test_next_expiry_is_that_of_first_token() -> None:
    clock = ManualClock(NOW)
    tokens = tokens_at(clock)
    assert tokens.quiet_ms() == math.inf
    tokens.create("t", user("a"), user("a"), (), 5000)
    tokens.create("u", user("a"), user("a"), (), 3000)
    assert tokens.quiet_ms() == 3000
    clock.advance(milliseconds=4000)
    assert tokens.quiet_ms() == 0


def test_unknown_secret_is_not_found() -> None:
    tokens = tokens_at(ManualClock(NOW))
    tokens.create("t", user("a"), user("a"), (), -1)
    for secret in (b"", b"t", bytes(64), tokens.secret("t")[:-1]):
        with pytest.raises(KafkaError) as raised:
            tokens.renew(secret, user("a"), 1)
        assert raised.value.code == Code.DELEGATION_TOKEN_NOT_FOUND


def test_messages_have_no_secret() -> None:
    tokens = tokens_at(ManualClock(NOW))
    token = tokens.create("t", user("a"), user("a"), (), -1)
    assert tokens.secret("t").hex() not in repr(token)
