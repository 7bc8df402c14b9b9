"""`kafkalet container`: the environment variables and start scripts of the images apache/kafka and cp-kafka.

The scripts run as the modules of Testcontainers run them, with the paths of the image below a temporary directory.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from kafkalet.commands.command_line import UsageError
from kafkalet.commands.container import options_of, properties_of, property_name
from kafkalet_conformance.playing.connection import Connection
from tests.source import ROOT

TESTCONTAINERS = {
    "CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw",
    "KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:0,BROKER://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_NODE_ID": "1",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9094",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS": "1",
    "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
    "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": "9223372036854775807",
    "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
}
"""The variables of KafkaHelper in testcontainers-java, with free ports."""
ADVERTISED = "PLAINTEXT://localhost:32768,BROKER://0a1b2c3d4e5f:9093"
WAITED_FOR = (
    r".*Transitioning from RECOVERY to RUNNING.*",  # testcontainers-java and -go
    r".*Kafka Server started.*",  # testcontainers-python with KRaft
    r".*\[KafkaServer id=\d+\] started.*",  # testcontainers-java and -python with ZooKeeper
)


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("KAFKA_LOG_RETENTION_MS", "log.retention.ms"),
        ("KAFKA_LISTENER_NAME_SASL__SSL_SSL_CLIENT_AUTH", "listener.name.sasl_ssl.ssl.client.auth"),
        (
            "KAFKA_LISTENER_NAME_OUT_SCRAM___SHA___256_SASL_JAAS_CONFIG",
            "listener.name.out.scram-sha-256.sasl.jaas.config",
        ),
    ],
)
def test_name_of_a_variable_becomes_a_property(variable: str, name: str) -> None:
    assert property_name(variable) == name


def test_variables_for_java_are_not_properties() -> None:
    names = ("HEAP_OPTS", "OPTS", "LOG4J_ROOT_LOGLEVEL", "LOG4J_OPTS", "JMX_PORT", "JVM_PERFORMANCE_OPTS", "VERSION")
    environment = {f"KAFKA_{name}": "x" for name in names} | {"PATH": "/bin", "KAFKALET_ADVERTISE": "a:1"}
    assert properties_of(environment) == {}


def test_listeners_are_derived_from_advertised_listeners() -> None:
    found = properties_of({"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://kafka:9092,SSL://x:9093", "KAFKA_LISTENERS": ""})
    assert found["listeners"] == "PLAINTEXT://0.0.0.0:9092,SSL://0.0.0.0:9093"


def test_secrets_are_read_from_their_files(tmp_path: Path) -> None:
    secrets = tmp_path / "etc/kafka/secrets"
    secrets.mkdir(parents=True)
    (secrets / "creds").write_text("secret\n")
    environment = {
        "KAFKALET_ROOT": str(tmp_path),
        "KAFKA_SSL_KEYSTORE_FILENAME": "kafka.p12",
        "KAFKA_SSL_KEYSTORE_CREDENTIALS": "creds",
    }
    assert properties_of(environment) == {
        "ssl.keystore.location": f"{secrets}/kafka.p12",
        "ssl.keystore.password": "secret",
    }
    with pytest.raises(UsageError, match=r"KAFKA_SSL_KEY_CREDENTIALS: cannot read .*/none: No such file or directory"):
        properties_of(environment | {"KAFKA_SSL_KEY_CREDENTIALS": "none"})


def test_broker_advertises_localhost_by_default() -> None:
    options = options_of([], {})
    assert (options.address, options.advertise) == (("0.0.0.0", 9092), ("localhost", 9092))
    assert options_of([], {"KAFKALET_ADVERTISE": "kafka:1"}).advertise == ("kafka", 1)
    assert options_of(["--advertise", "x:1"], {"KAFKALET_ADVERTISE": "kafka:1"}).advertise == ("x", 1)


def test_advertised_listeners_take_precedence() -> None:
    options = options_of([], TESTCONTAINERS | {"KAFKA_ADVERTISED_LISTENERS": ADVERTISED, "KAFKALET_ADVERTISE": "a:1"})
    assert (options.address, options.advertise) == (None, None)
    assert options.properties["advertised.listeners"] == ADVERTISED
    assert options.cluster_id == "4L6g3nShT-eMCtK--X86sw"


def test_arguments_override_the_environment_and_that_a_mounted_file(tmp_path: Path) -> None:
    mounted = tmp_path / "mnt/shared/config/server.properties"
    mounted.parent.mkdir(parents=True)
    mounted.write_text("num.partitions=1\nnum.io.threads=1\nlog.retention.ms=1\n")
    environment = {"KAFKALET_ROOT": str(tmp_path), "KAFKA_NUM_PARTITIONS": "2", "KAFKA_NUM_IO_THREADS": "2"}
    options = options_of(["--set", "num.partitions=3"], environment)
    assert options.properties == {"num.partitions": "3", "num.io.threads": "2", "log.retention.ms": "1"}


def test_log_directories_keep_the_data() -> None:
    options = options_of([], {"KAFKA_LOG_DIRS": "/data/a,/data/b"})
    assert options.properties["log.dirs"] == "/data/a,/data/b"
    assert options.data_dirs == []


def test_data_directory_in_the_arguments_replaces_log_directories_of_the_environment() -> None:
    options = options_of(["--data-dir", "/data/c"], {"KAFKA_LOG_DIRS": "/data/a,/data/b"})
    assert options.data_dirs == ["/data/c"]
    assert "log.dirs" not in options.properties


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"KAFKA_PROCESS_ROLES": "controller"}, "kafkalet has no separate controllers"),
        (
            {"KAFKA_CONTROLLER_QUORUM_VOTERS": "1@a:1,2@b:1,3@c:1"},
            "names 3 nodes, but a container of kafkalet is a",
        ),
    ],
)
def test_cluster_of_several_containers_is_refused(environment: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        options_of([], environment)


# The image


class Image:
    """The files of the image below a temporary directory, and a user who owns them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(ROOT / "docker", root, dirs_exist_ok=True)
        for directory in ("tmp", "home", "bin"):
            (root / directory).mkdir()
        for script in root.rglob("*"):
            if script.is_file():
                script.write_text(self.moved(script.read_text()))
        command = root / "bin" / "kafkalet"
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m kafkalet "$@"\n')
        command.chmod(0o755)

    def moved(self, text: str) -> str:
        """Replace the paths of the image in a script."""
        return re.sub(r"(?<![\w/.])/(etc/|tmp/|usr/sbin/|tc-start)", rf"{self.root}/\1", text)

    @contextmanager
    def running(self, *command: str, environment: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
        """Run the image's entry point with a command."""
        path = f"{self.root}/bin:{self.root}/usr/local/bin:{os.environ['PATH']}"
        inherited = {name: value for name, value in os.environ.items() if name in ("PYTHONPATH", "PYTHONPYCACHEPREFIX")}
        with subprocess.Popen(
            ["kafkalet", "container", *map(self.moved, command)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=self.root / "home",
            env=inherited | environment | {"PATH": path, "KAFKALET_ROOT": str(self.root), "PYTHONSAFEPATH": ""},
            executable=str(self.root / "bin" / "kafkalet"),
            start_new_session=True,
        ) as process:
            try:
                yield process
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # and the children of the scripts


@pytest.fixture
def image(tmp_path: Path) -> Image:
    return Image(tmp_path)


def printed(process: "subprocess.Popen[str]") -> tuple[str, str]:
    """Return the ready line and the line after it."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("kafkalet ready "):
            return line, process.stdout.readline()
    raise AssertionError("the broker has not started")


JAVA = "while [ ! -f /tmp/testcontainers_start.sh ]; do sleep 0.1; done; /tmp/testcontainers_start.sh"
JAVA_APACHE = f"#!/bin/bash\nexport KAFKA_ADVERTISED_LISTENERS={ADVERTISED}\n/etc/kafka/docker/run \n"
JAVA_CONFLUENT = f"#!/bin/bash\nexport KAFKA_ADVERTISED_LISTENERS={ADVERTISED}\n/etc/confluent/docker/run \n"
GO = f"""#!/bin/bash
source /etc/confluent/docker/bash-config
export KAFKA_ADVERTISED_LISTENERS={ADVERTISED}
echo Starting Kafka KRaft mode
sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure
echo 'kafka-storage format --ignore-formatted -t "$(kafka-storage random-uuid)" -c /etc/kafka/kafka.properties' \
>> /etc/confluent/docker/configure
echo '' > /etc/confluent/docker/ensure
/etc/confluent/docker/configure
/etc/confluent/docker/launch"""
NODE = f"""#!/bin/bash
export KAFKA_ADVERTISED_LISTENERS={ADVERTISED}
echo '' > /etc/confluent/docker/ensure
echo 'clientPort=2181' > zookeeper.properties
zookeeper-server-start zookeeper.properties &
/etc/confluent/docker/run
"""
PYTHON = f"""#!/bin/bash
sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure
echo 'kafka-storage format --ignore-formatted -t MkU3OEVBNTcwNTJENDM2Qk -c /etc/kafka/kafka.properties' \
>> /etc/confluent/docker/configure
export KAFKA_ADVERTISED_LISTENERS={ADVERTISED}
. /etc/confluent/docker/bash-config
/etc/confluent/docker/configure
/etc/confluent/docker/launch"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("path", "wait", "script"),
    [
        pytest.param("tmp/testcontainers_start.sh", JAVA, JAVA_APACHE, id="java, apache/kafka"),
        pytest.param("tmp/testcontainers_start.sh", JAVA, JAVA_CONFLUENT, id="java, cp-kafka"),
        pytest.param("usr/sbin/testcontainers_start.sh", JAVA.replace("/tmp/", "/usr/sbin/"), GO, id="go"),
        pytest.param("tmp/testcontainers_start.sh", JAVA, NODE, id="node"),
        pytest.param(
            "tc-start.sh", "while [ ! -f /tc-start.sh ]; do sleep 0.1; done; sh /tc-start.sh", PYTHON, id="python"
        ),
    ],
)
def test_module_of_testcontainers_starts_the_broker(image: Image, path: str, wait: str, script: str) -> None:
    with image.running("sh", "-c", wait, environment=TESTCONTAINERS) as process:
        target = image.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        copied = target.with_suffix(".new")
        copied.write_text(image.moved(script))
        copied.chmod(0o777)
        copied.rename(target)
        ready, words = printed(process)
    ready, _, controller = ready.partition(" CONTROLLER=")
    assert ready == "kafkalet ready bootstrap=localhost:32768 BROKER=0a1b2c3d4e5f:9093"
    assert controller
    assert [re.fullmatch(pattern, words.rstrip("\n")) is not None for pattern in WAITED_FOR] == [True, True, True]


def test_container_serves_clients_and_stops_on_a_signal(image: Image) -> None:
    environment = TESTCONTAINERS | {"KAFKA_NUM_PARTITIONS": "7"}
    with image.running("--topic", "orders", environment=environment) as process:
        ready, _ = printed(process)
        found = re.fullmatch(r"kafkalet ready bootstrap=(\S+):(\d+) BROKER=\S+ CONTROLLER=\S+\n", ready)
        assert found is not None, ready
        connection = Connection(found[1], int(found[2]))
        metadata = connection.ask("Metadata", 9, {"topics": [{"name": "orders"}]})
        connection.close()
        assert (image.root / "tmp/ready").read_text().startswith("bootstrap=")
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert metadata["cluster_id"] == "4L6g3nShT-eMCtK--X86sw"
    assert len(metadata["topics"][0]["partitions"]) == 7
    assert not (image.root / "tmp/ready").exists()


def test_arguments_of_the_script_of_apache_kafka_are_variables(image: Image) -> None:
    with image.running("/etc/kafka/docker/run", "KAFKA_NODE_ID=5", environment=TESTCONTAINERS) as process:
        _, words = printed(process)
    assert "[KafkaServer id=5] started" in words


def test_other_arguments_are_a_command(image: Image) -> None:
    with image.running("echo", "hello", environment={}) as process:
        assert process.stdout is not None
        assert process.stdout.read() == "hello\n"


def test_random_uuid_of_kafka_storage_is_a_cluster_id(image: Image) -> None:
    with image.running("kafka-storage", "random-uuid", environment={}) as process:
        assert process.stdout is not None
        assert re.fullmatch(r"[A-Za-z0-9_-]{22}\n", process.stdout.read())
