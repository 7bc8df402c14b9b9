"""Tests that `import kafkalet` and the pytest plugin import only what every program needs."""

import subprocess
import sys

import pytest

ALLOWED = {"kafkalet", "kafkalet.version"}


def imported(statement: str) -> set[str]:
    """Return the modules that a statement imports in a new interpreter."""
    code = f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_of_kafkalet_imports_nothing_else() -> None:
    path = repr(sys.path[0])
    assert imported(f"sys.path.insert(0, {path}); import kafkalet") == ALLOWED


def test_plugin_imports_nothing_of_kafkalet_but_itself() -> None:
    paths = repr(sys.path)
    new = imported(f"sys.path[:] = {paths}; import pytest; before = set(sys.modules); import kafkalet.testing.plugin")
    assert new == {*ALLOWED, "kafkalet.testing", "kafkalet.testing.plugin"}


@pytest.fixture(scope="module")
def imports_of_a_broker() -> set[str]:
    """The modules that are imported when a broker without options starts and stops."""
    start = "from kafkalet.embedded import EmbeddedCluster; cluster = EmbeddedCluster(); cluster.__enter__()"
    return imported(f"sys.path[:] = {sys.path!r}; {start}; cluster.__exit__(None, None, None)")


def test_broker_without_security_imports_only_the_terms_of_acls_and_principals(imports_of_a_broker: set[str]) -> None:
    package = "kafkalet.broker.security"
    found = {name for name in imports_of_a_broker if name.startswith(package)}
    assert found == {package, f"{package}.acl", f"{package}.principal"}
    assert not {"kafkalet.jaas", "kafkalet.sasl_client", "hmac", "hashlib"} & imports_of_a_broker


def test_broker_without_faults_imports_nothing_of_them(imports_of_a_broker: set[str]) -> None:
    new = imports_of_a_broker
    assert "kafkalet.broker.network.router" in new
    assert not {name for name in new if "faults" in name or name.startswith("kafkalet.testing")}


@pytest.mark.parametrize("api", ["join_group", "consumer_group_heartbeat", "offset_commit", "offset_fetch"])
def test_consumer_groups_import_nothing_of_share_groups_streams_groups_and_regular_expressions(api: str) -> None:
    package = "kafkalet.broker"
    new = imported(f"sys.path[:] = {sys.path!r}; import {package}.groups.coordinator, {package}.apis.{api}")
    assert f"{package}.groups.consumer.group" in new
    others = (f"{package}.groups.share", f"{package}.groups.streams", f"{package}.share", f"{package}.regex")
    assert not {name for name in new if name.startswith(others)}


@pytest.mark.parametrize("name", ["Broker", "Cluster", "with_broker"])
def test_public_names_are_imported_on_use(name: str) -> None:
    import kafkalet

    assert getattr(kafkalet, name).__name__ == name


def test_names_of_the_testing_package_are_imported_on_use() -> None:
    import kafkalet.testing

    assert kafkalet.testing.KafkaTestCase.__name__ == "KafkaTestCase"
    with pytest.raises(AttributeError, match=r"module 'kafkalet\.testing' has no attribute 'Broken'"):
        _ = kafkalet.testing.Broken
