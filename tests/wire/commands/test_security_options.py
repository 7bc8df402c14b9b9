"""Tests of `kafkalet serve` and `exec` with users, ACLs and TLS."""

import os
import re
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from .processes import run, serving


def fields(process: "subprocess.Popen[str]") -> dict[str, str]:
    """Return the fields of the ready line."""
    assert process.stdout is not None
    return dict(field.split("=", 1) for field in process.stdout.readline().split()[2:])


def settings(address: str, user: str, password: str, **more: str) -> dict[str, str]:
    """Return the settings of a client that logs in as this user."""
    protocol = "sasl_ssl" if more else "sasl_plaintext"
    names = {name.replace("_", "."): value for name, value in more.items()}
    config = {"bootstrap.servers": address, "security.protocol": protocol, "sasl.mechanism": "SCRAM-SHA-256"}
    return {**config, "sasl.username": user, "sasl.password": password, **names}


def topics(address: str, user: str, password: str, **more: str) -> set[str]:
    """Return the topics that a user may describe."""
    return set(AdminClient(settings(address, user, password, **more)).list_topics(timeout=20).topics)


def is_refused(address: str, user: str, password: str) -> bool:
    """Return whether the broker refuses the login of a user. Waits until the client has tried it."""
    errors: list[KafkaError] = []
    admin = AdminClient({**settings(address, user, password), "error_cb": errors.append})
    end_s = time.monotonic() + 60
    while not errors and time.monotonic() < end_s:
        admin.poll(1)
    return bool(errors) and errors[0].code() == KafkaError._AUTHENTICATION


def test_users_see_the_topics_that_acls_allow(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text("bob:from-file\n")
    options = ["--user", "alice", "--user-file", str(file), "--super-user", "admin:a:b"]
    acls = ["--acl", "alice:describe:topic:orders*", "--acl", "bob:describe:topic:*", "--acl", "deny:bob:all:topic:t"]
    made = ["--topic", "orders-1", "--topic", "t"]
    with serving(*options, *acls, *made, environment={"KAFKALET_PASSWORD_ALICE": "from-variable"}) as process:
        address = fields(process)["bootstrap"]
        assert topics(address, "alice", "from-variable") == {"orders-1"}
        assert topics(address, "bob", "from-file") == {"orders-1"}
        assert topics(address, "admin", "a:b") == {"orders-1", "t"}
        assert is_refused(address, "alice", "wrong")


def test_ready_line_has_the_certificate_to_trust_until_the_broker_stops() -> None:
    with serving("--tls", "--user", "alice:secret", "--topic", "t") as process:
        found = fields(process)
        assert topics(found["bootstrap"], "alice", "secret", ssl_ca_location=found["ca"]) == {"t"}
        process.terminate()
        process.wait(20)
        assert not os.path.exists(found["ca"])


def test_listener_without_a_protocol_is_secured_and_others_are_as_given() -> None:
    with serving("--listen", "plaintext://127.0.0.1:0", "--user", "alice:secret", "--topic", "t") as process:
        found = fields(process)
        assert topics(found["bootstrap"], "alice", "secret") == {"t"}
        assert set(AdminClient({"bootstrap.servers": found["PLAINTEXT"]}).list_topics(timeout=20).topics) == {"t"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--listen", "plaintext://127.0.0.1:0", "--user", "a:b"], "give a listener SASL_PLAINTEXT, as in sasl_plain"),
        (["--listen", "plaintext://127.0.0.1:0", "--tls"], "give a listener SSL, as in ssl://127.0.0.1:0"),
        (["--user", "a"], "expected a:PASSWORD, or the password in $KAFKALET_PASSWORD_A or --user-file"),
        (["--acl", "a:b"], "the ACL 'a:b' is invalid"),
    ],
)
def test_impossible_options_print_one_line_and_return_2(options: list[str], message: str) -> None:
    done = run("serve", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.startswith("kafkalet: ")
    assert done.stderr.count("\n") == 1


def test_missing_tool_for_certificates_is_reported_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    code = "import sys; sys.modules['cryptography'] = None; from kafkalet.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "serve", "--listen", "127.0.0.1:0", "--tls", "--log-level", "error"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"kafkalet: --tls: .*kafkalet\[tls\].*\n", done.stderr)


def test_exec_sets_the_file_of_the_certificate_to_trust() -> None:
    code = "import os; print(open(os.environ['KAFKA_SSL_CA_LOCATION']).read())"
    done = run("exec", "--tls", "--", sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
    assert ssl.PEM_cert_to_DER_cert(done.stdout.strip())


def test_password_is_in_no_log_line() -> None:
    with serving("--user", "alice:s3cret", "--log-level", "debug", "--topic", "t") as process:
        assert topics(fields(process)["bootstrap"], "alice", "s3cret") == {"t"}
        process.terminate()
        assert process.stderr is not None
        text = process.stderr.read()
    assert "SaslAuthenticate" in text
    assert "s3cret" not in text
