"""Tests of users, ACLs and certificates of the test kit. tests/clients/test_security.py has those with clients."""

import os
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kafkalet
from kafkalet.broker.security.acl_text import parse_acls
from kafkalet.broker.security.scram_credentials import ScramMechanism
from kafkalet.testing.broker_options import merged, new_cluster


@pytest.fixture
def broker() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(users={"alice": "secret"}, acls=["alice:read,write:topic:orders*"]) as started:
        yield started


def test_acls_are_added_and_removed(broker: kafkalet.Broker) -> None:
    broker.acls.add("bob:read:topic:t", *parse_acls("bob:read:group:g"))
    assert list(map(str, broker.acls)) == [
        "alice:read:topic:orders*",
        "alice:write:topic:orders*",
        "bob:read:topic:t",
        "bob:read:group:g",
    ]
    broker.acls.remove("alice:read,write:topic:orders*")
    assert list(map(str, broker.acls)) == ["bob:read:topic:t", "bob:read:group:g"]
    assert "bob:read:topic:t" in broker.acls
    assert "bob:read,write:topic:t" not in broker.acls
    assert len(broker.acls) == 2
    assert repr(broker.acls) == "<ACLs: bob:read:topic:t, bob:read:group:g>"


def test_removal_of_a_missing_acl_removes_nothing(broker: kafkalet.Broker) -> None:
    with pytest.raises(ValueError, match=r"the ACL bob:read:topic:t does not exist; the ACLs are alice:read"):
        broker.acls.remove("alice:read:topic:orders*", "bob:read:topic:t")
    assert "alice:read:topic:orders*" in broker.acls


def test_acls_need_an_authorizer() -> None:
    with kafkalet.Broker() as plain, pytest.raises(RuntimeError, match="the cluster has no authorizer"):
        plain.acls.add("alice:read:topic:t")


def test_users_are_added_and_removed(broker: kafkalet.Broker) -> None:
    broker.users.add("bob", "s3cret")
    assert (list(broker.users), "bob" in broker.users, len(broker.users)) == (["alice", "bob"], True, 2)
    assert repr(broker.users) == "<users: alice, bob>"
    broker.users.remove("bob")
    assert list(broker.users) == ["alice"]
    assert {name for name, _ in broker._server.metadata.scram_credentials} == {"alice"}


def test_unknown_user_cannot_be_removed(broker: kafkalet.Broker) -> None:
    with pytest.raises(ValueError, match="there is no user bob; the users are alice"):
        broker.users.remove("bob")


def test_users_need_a_listener_with_sasl() -> None:
    with kafkalet.Broker() as plain, pytest.raises(RuntimeError, match="no listener of the cluster uses SASL"):
        plain.users.add("alice", "secret")


@pytest.mark.parametrize("password", ["", "a\0b", 5])
def test_invalid_password_is_refused_in_the_callers_thread(broker: kafkalet.Broker, password: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="the password of bob"):
        broker.users.add("bob", password)
    assert list(broker.users) == ["alice"]


def test_reset_restores_the_first_users_and_acls(broker: kafkalet.Broker) -> None:
    broker.users.add("bob", "secret")
    broker.users.remove("alice")
    broker.acls.remove("alice:read,write:topic:orders*")
    broker.reset()
    assert list(broker.users) == ["alice"]
    assert list(map(str, broker.acls)) == ["alice:read:topic:orders*", "alice:write:topic:orders*"]
    assert ("alice", ScramMechanism.SCRAM_SHA_256) in broker._server.metadata.scram_credentials
    given = broker._server.config.static["listener.name.sasl_plaintext.plain.sasl.jaas.config"]
    assert ("user_alice" in given, "user_bob" in given) == (True, False)


def test_snapshot_has_acls_and_scram_credentials(broker: kafkalet.Broker) -> None:
    credentials = dict(broker._server.metadata.scram_credentials)
    snapshot = broker.snapshot()
    broker.acls.remove("alice:read,write:topic:orders*")
    broker.users.remove("alice")
    broker.restore(snapshot)
    assert list(map(str, broker.acls)) == ["alice:read:topic:orders*", "alice:write:topic:orders*"]
    assert broker._server.metadata.scram_credentials == credentials


def test_acls_and_users_survive_a_restart_with_a_data_directory(tmp_path: Path) -> None:
    options: dict[str, Any] = {"data_dir": tmp_path, "users": {"alice": "secret"}, "super_users": ["alice"]}
    with kafkalet.Broker(**options) as first:
        first.acls.add("bob:read:topic:t")
    with kafkalet.Broker(**options) as second:
        assert (list(map(str, second.acls)), list(second.users)) == (["bob:read:topic:t"], ["alice"])


def test_restarted_broker_knows_added_users(broker: kafkalet.Broker) -> None:
    broker.users.add("bob", "secret")
    broker.broker(1).stop()
    broker.broker(1).start()
    [listener] = broker._server.brokers[1].listeners
    assert (
        "user_bob"
        in broker._server.brokers[1].node.config.static[f"listener.name.{listener.name.lower()}.plain.sasl.jaas.config"]
    )


def test_operations_of_the_kit_need_no_acls(broker: kafkalet.Broker) -> None:
    broker.topic("payments").send("one")
    assert broker.topic("payments").values() == [b"one"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "clients of listener SASL_PLAINTEXT have to log in; name a user, one of alice"),
        ({"user": "bob"}, "user bob has no known password; name a user, one of alice"),
        ({"user": "alice", "client": "kafkacat"}, "client is 'kafkacat'; the clients are confluent-kafka"),
        ({"user": "alice", "mechanism": "GSSAPI"}, "mechanism GSSAPI is not enabled on listener SASL_PLAINTEXT"),
        ({"user": "alice", "listener": "SSL"}, "there is no listener SSL; the listeners are SASL_PLAINTEXT"),
    ],
)
def test_impossible_client_config_is_refused(broker: kafkalet.Broker, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        broker.client_config(**arguments)


def test_client_of_a_plain_listener_has_no_user() -> None:
    with kafkalet.Broker() as plain:
        assert plain.client_config() == {"bootstrap.servers": plain.bootstrap_servers}
        with pytest.raises(ValueError, match="clients of listener PLAINTEXT are anonymous"):
            plain.client_config("alice")
        with pytest.raises(ValueError, match="cannot log in with PLAIN"):
            plain.client_config(mechanism="PLAIN")


def test_mechanism_and_listener_are_found_in_any_case(broker: kafkalet.Broker) -> None:
    found = broker.client_config("alice", mechanism="scram-sha-256", listener="sasl_plaintext")
    assert found["sasl.mechanism"] == "SCRAM-SHA-256"


def test_first_suitable_listener_is_chosen() -> None:
    listeners = "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0"
    with kafkalet.Broker(users={"alice": "secret"}, config={"listeners": listeners}) as broker:
        assert "security.protocol" not in broker.client_config()
        assert broker.client_config("alice")["security.protocol"] == "sasl_plaintext"


def test_files_of_clients_are_removed_when_the_broker_stops() -> None:
    with kafkalet.Broker(tls=True) as broker:
        found = broker.client_config("alice", client="kafka-python")
        path = broker.java_properties_file("alice")
        paths = [path, *(found[name] for name in ("ssl_cafile", "ssl_certfile", "ssl_keyfile"))]
        assert all(map(os.path.exists, paths))
        assert "ssl.keystore.type=PEM\n" in Path(path).read_text()
    assert not any(map(os.path.exists, paths))


def test_certificate_is_valid_for_the_advertised_host() -> None:
    with kafkalet.Broker(tls=True, advertise=("kafka.example", 9092)) as broker:
        [[port]] = broker._server._addresses.ports.values()
        context = ssl.create_default_context(cadata=broker.client_config()["ssl.ca.pem"])
        with (
            socket.create_connection(("127.0.0.1", port), timeout=20) as client,
            context.wrap_socket(client, server_hostname="kafka.example") as secured,
        ):
            assert secured.version() in ("TLSv1.2", "TLSv1.3")


@pytest.mark.parametrize("name", ["a,b", "a=b", "x" * 65, " a", "a\n"])
def test_name_that_a_certificate_cannot_have_is_refused(name: str) -> None:
    with kafkalet.Broker(tls=True) as broker, pytest.raises(ValueError, match="cannot be the name in a certificate"):
        broker.client_config(name)


def test_broker_with_tls_starts_again() -> None:
    broker = kafkalet.Broker(tls=True)
    certificates = []
    for _ in range(2):
        with broker:
            certificates.append(broker.client_config()["ssl.ca.pem"])
            context = ssl.create_default_context(cadata=certificates[-1])
            with (
                socket.create_connection(("127.0.0.1", broker.port), timeout=20) as client,
                context.wrap_socket(client, server_hostname="localhost") as secured,
            ):
                assert secured.version()
    assert len(set(certificates)) == 1


def test_only_brokers_that_run_at_the_same_time_have_different_authorities() -> None:
    def authority(broker: kafkalet.Broker) -> str:
        return str(broker.client_config()["ssl.ca.pem"])

    with kafkalet.Broker(tls=True) as first, kafkalet.Broker(tls=True) as second:
        together = {authority(first), authority(second)}
    with kafkalet.Broker(tls=True) as third:
        assert authority(third) in together
    assert len(together) == 2


def test_each_broker_of_a_cluster_has_users() -> None:
    with kafkalet.Cluster(3, users={"alice": "secret"}) as cluster:
        assert cluster.client_config("alice")["bootstrap.servers"].count(",") == 2
        cluster.users.add("bob", "secret")
        assert cluster.client_config("bob")["sasl.password"] == "secret"


def test_address_of_the_listener_is_that_of_the_arguments() -> None:
    with kafkalet.Broker() as other:
        port = other.port
    with kafkalet.Broker(port=port, users={"alice": "secret"}) as broker:
        assert broker.port == port


def test_users_and_acls_of_markers_are_combined() -> None:
    found = merged(
        [{"users": {"a": "1"}, "acls": ["a:read:topic:t"]}, {"users": {"b": "2"}, "acls": ["b:read:topic:t"]}]
    )
    assert found == {"users": {"a": "1", "b": "2"}, "acls": ["a:read:topic:t", "b:read:topic:t"]}
    with new_cluster(found) as cluster:
        assert (list(cluster.users), len(cluster.acls)) == (["a", "b"], 2)


def test_acl_is_a_public_name(broker: kafkalet.Broker) -> None:
    assert all(isinstance(acl, kafkalet.Acl) for acl in broker.acls)
