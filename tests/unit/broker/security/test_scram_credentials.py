"""`kafkalet.broker.security.scram_credentials`: credentials that are derived from passwords, and their
representation.
"""

import hmac
from base64 import b64decode, b64encode

import pytest

from kafkalet.broker.security.scram_credentials import (
    ScramCredential,
    ScramMechanism,
    credential_of_password,
)


def test_mechanisms_have_their_names_and_numbers() -> None:
    assert [(each.value, each.title) for each in ScramMechanism] == [(1, "SCRAM-SHA-256"), (2, "SCRAM-SHA-512")]


@pytest.mark.parametrize(("number", "found"), [(0, None), (1, 1), (2, 2), (3, None), (-1, None)])
def test_unknown_number_is_not_a_mechanism(number: int, found: int | None) -> None:
    assert ScramMechanism.of(number) == found


def test_server_signature_of_rfc_7677_is_verified() -> None:
    salt = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    found = credential_of_password(ScramMechanism.SCRAM_SHA_256, "pencil", salt)
    message = (
        b"n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    )
    signature = hmac.digest(found.server_key, message, "sha256")
    assert b64encode(signature) == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_salt_is_random() -> None:
    mechanism = ScramMechanism.SCRAM_SHA_512
    assert credential_of_password(mechanism, "p") != credential_of_password(mechanism, "p")


def test_credential_shows_only_its_iterations() -> None:
    assert repr(ScramCredential(b"salt", b"stored", b"server", 4096)) == "ScramCredential(iterations=4096)"
