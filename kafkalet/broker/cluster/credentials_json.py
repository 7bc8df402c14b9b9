"""SCRAM credentials and delegation tokens in the metadata file.

The file never contains a password or the secret of a token, and messages about invalid values never show the values.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable
from typing import Any

from kafkalet.broker.security.delegation_tokens import DelegationToken
from kafkalet.broker.security.principal import Principal
from kafkalet.broker.security.scram_credentials import ScramCredential, ScramMechanism

from .metadata import MetadataImage


def credentials_to_json(image: MetadataImage) -> dict[str, Any]:
    """Return the entries of the metadata file for credentials and tokens."""
    return {
        "scram_credentials": [
            [name, int(mechanism), *(b64encode(part).decode() for part in credential[:3]), credential.iterations]
            for (name, mechanism), credential in image.scram_credentials.items()
        ],
        "delegation_tokens": list(image.delegation_tokens.values()),
    }


def load_credentials(saved: dict[str, Any], image: MetadataImage) -> None:
    """Load credentials and tokens. Raises ValueError if one is invalid."""
    for number, entry in enumerate(saved["scram_credentials"]):
        try:
            name, mechanism, salt, stored_key, server_key, iterations = entry
            credential = ScramCredential(
                b64decode(salt, validate=True),
                b64decode(stored_key, validate=True),
                b64decode(server_key, validate=True),
                _whole(iterations),
            )
            image.scram_credentials[_text(name), ScramMechanism(mechanism)] = credential
        except (ValueError, TypeError):
            raise ValueError(f"SCRAM credential {number} is invalid") from None
    for number, entry in enumerate(saved["delegation_tokens"]):
        try:
            token_id, owner, requester, renewers, *times = entry
            issued_ms, max_ms, expires_ms = times
            image.delegation_tokens[_text(token_id)] = DelegationToken(
                token_id,
                _principal(owner),
                _principal(requester),
                tuple(_principal(renewer) for renewer in renewers),
                _whole(issued_ms),
                _whole(max_ms),
                _whole(expires_ms),
            )
        except (ValueError, TypeError):
            raise ValueError(f"delegation token {number} is invalid") from None


def _principal(value: Iterable[Any]) -> Principal:
    kind, name = value
    return Principal(_text(kind), _text(name))


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError
    return value


def _whole(value: Any) -> int:
    if type(value) is not int or not -(1 << 63) <= value < 1 << 63:
        raise TypeError
    return value
