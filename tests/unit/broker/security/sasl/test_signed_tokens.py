"""Access tokens with a signature, and the file with their keys."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
from cryptography.hazmat.primitives.hashes import SHA256

from kafkalet.broker.security.sasl.access_token import JWKS_URL, AccessToken, InvalidToken
from kafkalet.broker.security.sasl.signed_tokens import SignedTokens
from kafkalet.clock import ManualClock
from kafkalet.properties import InvalidProperty

NOW_S = 1_000_000
RSA_KEY = rsa.generate_private_key(65537, 2048)
OTHER_RSA_KEY = rsa.generate_private_key(65537, 2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def number(value: int) -> str:
    return encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def rsa_jwk(key: rsa.RSAPrivateKey, kid: str, **more: str) -> dict[str, str]:
    public = key.public_key().public_numbers()
    return {"kty": "RSA", "kid": kid, "n": number(public.n), "e": number(public.e)} | more


def ec_jwk(kid: str) -> dict[str, str]:
    public = EC_KEY.public_key().public_numbers()
    x, y = (encoded(value.to_bytes(32, "big")) for value in (public.x, public.y))
    return {"kty": "EC", "crv": "P-256", "kid": kid, "x": x, "y": y, "use": "sig", "alg": "ES256"}


def token(key: Any = RSA_KEY, header: dict[str, Any] | None = None, **claims: Any) -> str:
    algorithm = "RS256" if isinstance(key, rsa.RSAPrivateKey) else "ES256"
    header = {"alg": algorithm, "kid": algorithm} if header is None else header
    content = {"sub": "olga", "iat": NOW_S, "exp": NOW_S + 60} | claims
    content = {name: value for name, value in content.items() if value is not None}
    signed = f"{encoded(json.dumps(header).encode())}.{encoded(json.dumps(content).encode())}"
    if isinstance(key, rsa.RSAPrivateKey):
        signature = key.sign(signed.encode(), padding.PKCS1v15(), SHA256())
    else:
        r, s = utils.decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(SHA256())))
        signature = r.to_bytes(32, "big") + s.to_bytes(32, "big")
    return f"{signed}.{encoded(signature)}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"keys": [rsa_jwk(RSA_KEY, "RS256"), ec_jwk("ES256")]}))
    return path


def tokens(file: Path, **values: str) -> SignedTokens:
    values = {f"sasl.oauthbearer.{name.replace('_', '.')}": value for name, value in values.items()}
    return SignedTokens({JWKS_URL: file.as_uri()} | values, ManualClock(NOW_S * 1000))


@pytest.mark.parametrize("key", [RSA_KEY, EC_KEY], ids=["RS256", "ES256"])
def test_token_with_a_known_key_is_valid(file: Path, key: Any) -> None:
    assert tokens(file).validate(token(key)) == AccessToken("olga", (NOW_S + 60) * 1000)


def test_key_may_be_selected_by_type_only(file: Path) -> None:
    assert tokens(file).validate(token(header={"alg": "RS256"}))


def test_other_claims_may_hold_name_and_scope(file: Path) -> None:
    valid = tokens(file, sub_claim_name="user", scope_claim_name="scp")
    assert valid.validate(token(user="eve", scp=["a", "b"])).principal_name == "eve"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.b",
        "a.b.c",
        token(OTHER_RSA_KEY),
        token(EC_KEY, header={"alg": "RS256", "kid": "RS256"}),
        token(header={"alg": "none"}),
        token(header={"alg": "HS256", "kid": "RS256"}),
        token(header={"alg": "RS256", "kid": "other"}),
        token(header={"alg": "ES256", "kid": "RS256"}),
        token(header={"alg": "RS256", "kid": "RS256", "crit": ["b64"]}),
        token(header={"alg": ["RS256"]}),
        token()[:-8] + "AAAAAAAA",
        token(exp=None),
        token(iat=None),
        token(exp="1"),
        token(exp=NOW_S - 30),
        token(exp=NOW_S + 1, iat=NOW_S + 2),
        token(nbf=NOW_S + 31),
        token(exp=1e300),
        token(sub=None),
        token(sub=" "),
        token(sub=5),
        token(scope=["a", "a"]),
        token(scope=""),
        token(scope=[1]),
        token(aud="kafka"),
    ],
)
def test_invalid_token_is_refused(file: Path, text: str) -> None:
    with pytest.raises(InvalidToken) as caught:
        tokens(file).validate(text)
    assert not text or text[:20] not in str(caught.value)


def test_clock_skew_of_30_seconds_is_allowed_by_default(file: Path) -> None:
    assert tokens(file).validate(token(exp=NOW_S - 29, iat=NOW_S - 40))
    with pytest.raises(InvalidToken):
        tokens(file, clock_skew_seconds="0").validate(token(exp=NOW_S - 29, iat=NOW_S - 40))


def test_audience_and_issuer_must_be_expected(file: Path) -> None:
    strict = tokens(file, expected_audience="kafka, other", expected_issuer="https://issuer")
    assert strict.validate(token(aud=["x", "kafka"], iss="https://issuer"))
    for claims in ({"aud": "kafka"}, {"aud": "x", "iss": "https://issuer"}, {"iss": "https://issuer"}):
        with pytest.raises(InvalidToken):
            strict.validate(token(**claims))


def test_changed_file_is_read_again(file: Path) -> None:
    valid = tokens(file)
    file.write_text(json.dumps({"keys": [rsa_jwk(OTHER_RSA_KEY, "RS256")]}))
    os.utime(file, ns=(1, 1))
    assert valid.validate(token(OTHER_RSA_KEY))
    with pytest.raises(InvalidToken):
        valid.validate(token(RSA_KEY))


def test_keys_remain_in_use_while_the_file_is_broken(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    valid = tokens(file)
    file.write_text("{")
    os.utime(file, ns=(1, 1))
    assert valid.validate(token())
    assert "the previous keys remain in use" in caplog.text
    file.unlink()
    assert valid.validate(token())


@pytest.mark.parametrize(
    "jwk", [rsa_jwk(RSA_KEY, "RS256", use="enc"), {"kty": "RSA", "kid": "RS256"}, {"kid": "RS256"}]
)
def test_unusable_key_makes_the_token_invalid(file: Path, jwk: dict[str, str]) -> None:
    file.write_text(json.dumps({"keys": [jwk]}))
    with pytest.raises(InvalidToken):
        tokens(file).validate(token())


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("https://issuer/keys", "kafkalet does not download keys"),
        ("HTTP://issuer/keys", "kafkalet does not download keys"),
        ("/keys.json", "it must be the URL of a file"),
        ("file:///no/such/file", "the file cannot be read: No such file or directory"),
    ],
)
def test_other_url_is_refused(url: str, problem: str) -> None:
    with pytest.raises(InvalidProperty, match=problem):
        SignedTokens({JWKS_URL: url}, ManualClock())


@pytest.mark.parametrize("content", ["", "[]", '{"keys": 5}', "{}"])
def test_file_that_is_not_a_key_set_is_refused(file: Path, content: str) -> None:
    file.write_text(content)
    with pytest.raises(InvalidProperty, match="is not a JSON Web Key Set"):
        tokens(file)


def test_missing_package_is_reported_with_the_extra(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cryptography", None)
    with pytest.raises(InvalidProperty, match=r"pip install 'kafkalet\[tls\]'"):
        tokens(file)
