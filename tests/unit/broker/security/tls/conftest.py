"""Certificates for the tests of this directory."""

from collections.abc import Iterator

import pytest

from kafkalet.broker.security.tls.certificate_authority import CertificateAuthority


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CertificateAuthority]:
    authority = CertificateAuthority(str(tmp_path_factory.mktemp("certificates") / "authority"), ["kafka"])
    yield authority
    authority.close()


@pytest.fixture(scope="session")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CertificateAuthority]:
    """An authority that neither brokers nor clients trust."""
    authority = CertificateAuthority(str(tmp_path_factory.mktemp("certificates") / "stranger"))
    yield authority
    authority.close()
