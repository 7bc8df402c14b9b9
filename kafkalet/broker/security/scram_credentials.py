"""The SCRAM credentials of users: salted and hashed passwords (RFC 5802).

Brokers load this module when they start, so it imports hashlib and hmac only when they are used.

Source: org.apache.kafka.common.security.scram.internals.ScramFormatter, ScramMechanism.
"""

import os
from enum import IntEnum
from typing import NamedTuple, Self


class ScramMechanism(IntEnum):
    """The SCRAM mechanisms, with their numbers in the protocol (KIP-554)."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @classmethod
    def of(cls, number: int) -> Self | None:
        """Return the mechanism with this number, or None if there is none."""
        return next((mechanism for mechanism in cls if mechanism == number), None)

    @property
    def title(self) -> str:
        """The name of the SASL mechanism."""
        return self.name.replace("_", "-")

    @property
    def hash_name(self) -> str:
        """The hash function, as named by hashlib."""
        return "sha256" if self is ScramMechanism.SCRAM_SHA_256 else "sha512"


MIN_ITERATIONS = 4096
MAX_ITERATIONS = 16_384


class ScramCredential(NamedTuple):
    """The data that the broker stores instead of a password. The password cannot be recovered from it."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self.iterations})"


def credential_of_password(mechanism: ScramMechanism, password: str, salt: bytes | None = None) -> ScramCredential:
    """Return the credential of a password with 4,096 iterations. Without `salt`, a random one is used."""
    import hashlib

    salt = os.urandom(16) if salt is None else salt
    salted = hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, MIN_ITERATIONS)
    return credential_of_salted(mechanism, salted, salt, MIN_ITERATIONS)


def credentials_of_user(name: str, password: str) -> dict[tuple[str, ScramMechanism], ScramCredential]:
    """Return the credentials of a user for all mechanisms."""
    return {(name, mechanism): credential_of_password(mechanism, password) for mechanism in ScramMechanism}


def credential_of_salted(mechanism: ScramMechanism, salted: bytes, salt: bytes, iterations: int) -> ScramCredential:
    """Return the credential of a password that the client has salted and hashed."""
    import hashlib
    import hmac

    client_key = hmac.digest(salted, b"Client Key", mechanism.hash_name)
    stored_key = hashlib.new(mechanism.hash_name, client_key).digest()
    return ScramCredential(salt, stored_key, hmac.digest(salted, b"Server Key", mechanism.hash_name), iterations)
