"""Java, Go, Node and kcat: one program each that produces, asks for offsets by time, and fetches by assignment.

They run with `make clients` (pytest -m toolchain): their packages have to be fetched first, by Maven, Go and npm into
the caches that these keep anyway. What is built goes to a temporary directory, nothing to this one. A toolchain that is
missing is named, with the command that brings it.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kafkalet

pytestmark = pytest.mark.toolchain

HERE = Path(__file__).parent
FETCHING_S = 600
RUNNING_S = 120
KAFKA_CLIENTS = ["0.10.2.2", "1.1.1", "2.8.2", "3.9.2", "4.0.0", "4.4.0"]
"""Releases of the Java client: the oldest that looks offsets up by time, the newest, and what came between."""

BROKERS = ["2.8", "3.9", "4.4", "newest"]
TIMES = {0: 1000, 1: 2000, 2: 3000, 3: 4000, 4: 5000}
REPORT = {
    "produced": [0, 1, 2, 3, 4],
    "beginning": 0,
    "end": 5,
    "stable": 5,
    "found": [2, 3000],
    "none": None,
    "read": [[n, TIMES[n], f"k{n}", f"v{n}"] for n in (2, 3, 4)],
    "out_of_range": True,
}


@pytest.fixture(scope="module", params=BROKERS)
def broker(request: pytest.FixtureRequest) -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(kafka_version=request.param) as running:
        yield running


@pytest.fixture
def topic(broker: kafkalet.Broker) -> str:
    name = f"t{len(broker.metadata.topics)}"
    broker.create_topic(name, 1)
    return name


def tool(command: str, how_to_get_it: str) -> str:
    """Where a program is; without it the test is left out, and says what would bring it."""
    found = shutil.which(command)
    if found is None:
        pytest.skip(f"{command} is not installed: {how_to_get_it}")
    return found


def run(*command: str | Path, limit_s: int = FETCHING_S, **more: Any) -> str:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=limit_s, check=False, **more
    )
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def report(*command: str | Path) -> dict[str, Any]:
    """What the program at the end of its output says that it saw; which client it is goes to the terminal."""
    told: dict[str, Any] = json.loads(run(*command, limit_s=RUNNING_S).splitlines()[-1])
    print(" ", told.pop("client", ""), end=" ")
    return told


# Java


@pytest.fixture(scope="module", params=KAFKA_CLIENTS)
def java(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command of the Java program with a release of kafka-clients."""
    release = request.param
    javac = tool("javac", "apt-get install default-jdk-headless")
    maven = tool("mvn", "apt-get install maven")
    folder = tmp_path_factory.mktemp(f"kafka-clients-{release}")
    copy = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}", f"-Dkafka.version={release}"]
    run(maven, "-q", "-B", "-f", HERE / "java" / "pom.xml", *copy)
    run(javac, "-cp", f"{folder}/*", "-d", folder, HERE / "java" / "RoundTrip.java")
    return [tool("java", "apt-get install default-jre-headless"), "-cp", f"{folder}/*{os.pathsep}{folder}", "RoundTrip"]


def test_kafka_clients_of_java(
    java: list[str], broker: kafkalet.Broker, topic: str, request: pytest.FixtureRequest
) -> None:
    release = request.node.callspec.params["java"]
    if release == "0.10.2.2" and broker.release.name == "4.4":
        with pytest.raises(AssertionError, match="server disconnected"):  # 4.0 ended message sets (KIP-896)
            report(*java, broker.bootstrap_servers, topic)
    else:
        assert report(*java, broker.bootstrap_servers, topic) == REPORT


# Go


@pytest.fixture(scope="module")
def franz_go(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Go program, built."""
    go = tool("go", "https://go.dev/dl, or apt-get install golang-go")
    folder = tmp_path_factory.mktemp("franz-go")
    for name in ("go.mod", "main.go"):
        shutil.copy(HERE / "go" / name, folder)
    run(go, "mod", "tidy", cwd=folder)
    run(go, "build", "-o", "roundtrip", ".", cwd=folder)
    return folder / "roundtrip"


def test_franz_go(franz_go: Path, broker: kafkalet.Broker, topic: str) -> None:
    assert report(franz_go, broker.bootstrap_servers, topic) == REPORT


# Node


@pytest.fixture(scope="module")
def kafkajs(tmp_path_factory: pytest.TempPathFactory) -> list[str | Path]:
    """The Node program, beside its packages."""
    node = tool("node", "https://nodejs.org, or apt-get install nodejs")
    npm = tool("npm", "apt-get install npm")
    folder = tmp_path_factory.mktemp("kafkajs")
    for name in ("package.json", "roundtrip.js"):
        shutil.copy(HERE / "node" / name, folder)
    run(npm, "install", "--no-package-lock", "--no-audit", "--no-fund", cwd=folder)
    return [node, folder / "roundtrip.js"]


def test_kafkajs(kafkajs: list[str | Path], broker: kafkalet.Broker, topic: str) -> None:
    told = report(*kafkajs, broker.bootstrap_servers, topic)
    assert told == {**REPORT, "found": 2}  # it keeps the timestamp to itself


# kcat


def test_kcat(broker: kafkalet.Broker, topic: str) -> None:
    kcat = tool("kcat", "apt-get install kcat")
    told = report("sh", HERE / "kcat" / "roundtrip.sh", kcat, broker.bootstrap_servers, topic)
    assert (told["beginning"], told["end"], told["out_of_range"]) == (0, 5, True)
    assert (told["found"], told["none"]) == (0, -1)
    assert [(offset, key, value) for offset, _, key, value in told["read"]] == [
        (2, "k2", "v2"),
        (3, "k3", "v3"),
        (4, "k4", "v4"),
    ]
