"""The options of `kafkalet conform` for TLS and SASL."""

from pathlib import Path

import pytest

from kafkalet.client_security import Security
from kafkalet.commands.command_line import UsageError
from kafkalet.sasl_client import Credentials
from kafkalet_conformance.commands.security import OPTIONS, PASSWORD, security_of


def given(**options: str) -> dict[str, list[str]]:
    return {name.replace("_", "-"): [value] for name, value in options.items()}


def test_no_option_means_no_security() -> None:
    assert security_of({}) == (Security(), "")


def test_password_comes_from_an_option_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "password"
    file.write_text("from file\n")
    monkeypatch.setenv(PASSWORD, "from environment")
    found = [
        security_of(given(sasl="plain", user="u", **more))[0].credentials
        for more in ({"password": "given"}, {"password_file": str(file)}, {})
    ]
    assert found == [Credentials("PLAIN", "u", f) for f in ("given", "from file", "from environment")]


def test_properties_file_has_security_and_addresses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "bootstrap.servers=a:1\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        'sasl.jaas.config=PlainLoginModule required username="u" password="p";\nclient.id=me\n'
    )
    assert security_of(given(config=str(file))) == (Security(None, Credentials("PLAIN", "u", "p")), "a:1")
    assert "ignored: client.id" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (given(ca="f"), "--ca has an effect only with --tls"),
        (given(user="u"), "--user has an effect only with --sasl"),
        (given(sasl="PLAIN", user="u"), "--sasl needs a password"),
        (given(sasl="PLAIN", password="p"), "PLAIN needs a user"),
        (given(sasl="GSSAPI", user="u", password="p"), "supported are PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
        (given(sasl="PLAIN", user="u", password="p", password_file="f"), "exclude each other"),
        (given(config="f", tls=""), "--config and --tls exclude each other"),
        (given(config="/no/such"), "--config /no/such: the file cannot be read"),
        (given(tls="", ca="/no/such"), "TLS: /no/such cannot be read"),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    options: dict[str, list[str]], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PASSWORD, raising=False)
    with pytest.raises(UsageError) as caught:
        security_of(options)
    assert reason in str(caught.value)


def test_each_option_has_help() -> None:
    assert all(option.help for option in OPTIONS)
