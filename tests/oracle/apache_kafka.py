"""Run Apache Kafka on the loopback interface for comparisons; its jars are resolved through Maven.

    with ApacheKafka("3.9") as kafka:
        ... kafka.bootstrap_servers ...

This needs `java` (17 or newer) and, on first use, `mvn`, which copies the jars of a release to
`~/.cache/kafka-oracle/lib` (set `KAFKA_ORACLE_CACHE` to change the directory). Releases since 3.3 run in KRaft mode,
older ones with ZooKeeper. Supported on Linux and macOS.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from kafkalet_conformance.playing.connection import Closed, Connection, NoAnswer

from .network import CONTROLLER, Network

VERSIONS = {"2.8": "2.8.2", "3.9": "3.9.2", "4.3": "4.3.1", "4.4": "4.4.0"}
CACHE = Path(os.environ.get("KAFKA_ORACLE_CACHE", "~/.cache/kafka-oracle")).expanduser()
CLUSTER_ID = "a2Fma2Etb3JhY2xlLTAwMQ"
USERS = ("admin", "user")
TIMEOUT_S = 120

LOG4J = """\
log4j.rootLogger=WARN, err
log4j.appender.err=org.apache.log4j.ConsoleAppender
log4j.appender.err.target=System.err
log4j.appender.err.layout=org.apache.log4j.SimpleLayout
"""
LOG4J2 = """\
rootLogger.level=WARN
rootLogger.appenderRef.err.ref=err
appender.err.type=Console
appender.err.name=err
appender.err.target=SYSTEM_ERR
appender.err.layout.type=PatternLayout
appender.err.layout.pattern=[%d] %p %m (%c)%n
"""
PROPERTIES = {
    "auto.create.topics.enable": "true",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}


def missing(release: str) -> str:
    """Describe what is missing to start this release; "" if nothing is."""
    if not shutil.which("java"):
        return "java is not on the PATH"
    if not _jars(release).exists() and not shutil.which("mvn"):
        return f"Apache Kafka {version_of(release)} is not in {CACHE} and mvn is not on the PATH"
    return ""


def version_of(release: str) -> str:
    """Return the version that stands for a release; other versions stand for themselves, such as 4.5.0."""
    return VERSIONS.get(release, release)


def _jars(release: str) -> Path:
    return CACHE / "lib" / version_of(release)


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", release))


class ApacheKafka:
    """The brokers of a release in a temporary directory; they run inside the `with` block.

    Several brokers need KRaft; broker 1 is the controller, unless there is a `network`.
    """

    def __init__(
        self,
        release: str,
        acl: bool = False,
        config: Mapping[str, str] | None = None,
        brokers: int = 1,
        listeners: Mapping[str, tuple[str, int]] | None = None,
        heap: str = "512m",
        racks: Sequence[str] = (),
        network: Network | None = None,
    ) -> None:
        """`listeners`: the address for each security protocol, PLAINTEXT first; for one broker with KRaft.

        With a `network`, which needs KRaft, brokers, clients and a controller in its own process reach each other
        through its proxies.
        """
        self.release, self.acl, self.config, self.brokers = release, acl, config or {}, brokers
        self.listeners, self.heap, self.racks = listeners or {}, heap, racks
        self.network = network
        self.kraft = _numbers(release) >= (3, 3)
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        """The processes of the brokers by id; 0 is ZooKeeper, or a controller of its own."""
        self.directory = Path()
        self.start_s = 0.0
        """The time from starting the broker's process to its first response, in seconds."""

    def __enter__(self) -> Self:
        _install(self.release)
        self.directory = Path(tempfile.mkdtemp(prefix=f"kafka-{self.release}-"))
        side_port, *ports = _free_ports(1 + self.brokers)
        self._bound = [side_port, *ports]
        self._between = [0, *_free_ports(self.brokers)]
        self._advertised = list(self._between)
        if self.network is not None:
            side_port = self.network.proxy(side_port, CONTROLLER)
            for node in range(1, self.brokers + 1):
                self._advertised[node] = self.network.proxy(self._between[node], node)
            ports = [self.network.proxy(port, node, for_clients=True) for node, port in enumerate(ports, 1)]
        if self.listeners:
            ports = [self.listeners["PLAINTEXT"][1]]
        self.ports = ports
        self.bootstrap_servers = f"127.0.0.1:{ports[0]}"
        nodes = range(1, self.brokers + 1)
        try:
            for node, port in zip(nodes, ports, strict=True):
                self._configure(node, port, side_port)
            if self.network is not None:
                self._configure(CONTROLLER, 0, side_port)
                self._launch_broker(CONTROLLER)
            if not self.kraft:
                self._start_zookeeper(side_port)
            begun = time.perf_counter()
            for node in nodes:
                self._launch_broker(node)
            self._wait(self._answers)
            self.start_s = time.perf_counter() - begun
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def stop(self, node_id: int) -> None:
        """End the process of a broker after it has handed its partitions over, and wait until it has ended."""
        self._end(node_id, signal.SIGTERM)

    def kill(self, node_id: int) -> None:
        """End the process of a broker at once."""
        self._end(node_id, signal.SIGKILL)

    def _end(self, node_id: int, number: signal.Signals) -> None:
        process = self.processes.pop(node_id)
        process.send_signal(number)
        process.wait(TIMEOUT_S)

    def pause(self, node_id: int) -> None:
        """Suspend the process of a broker."""
        self.processes[node_id].send_signal(signal.SIGSTOP)

    def resume(self, node_id: int) -> None:
        """Let the process of a broker continue."""
        self.processes[node_id].send_signal(signal.SIGCONT)

    def cut_off(self, node_id: int, *peers: str) -> None:
        """Cut a broker off from "clients", the other "brokers" or the "controller"."""
        assert self.network is not None
        self.network.cut_off(node_id, peers)

    def reconnect(self, node_id: int) -> None:
        """Undo `cut_off`."""
        self.cut_off(node_id)

    def start(self, node_id: int) -> None:
        """Start a broker or the controller (0) again, with its properties and its directory.

        ZooKeeper refuses a broker that was killed until its session has expired.
        """
        if node_id == CONTROLLER:
            self._launch_broker(CONTROLLER)
            self._wait(lambda: _accepts(self._bound[CONTROLLER]))
            return
        for attempt in range(10):
            self._launch_broker(node_id)
            try:
                self._wait(lambda: node_id in self._listed() and _accepts(self.ports[node_id - 1]))
                return
            except RuntimeError:
                if self.kraft or attempt == 9:
                    raise

    def _configure(self, node: int, port: int, side_port: int) -> None:
        """Write the properties of a broker, and format its directory."""
        file = self._file(node)
        file.write_text("".join(f"{k}={v}\n" for k, v in self._properties(node, port, side_port).items()))
        if self.kraft:
            self._run("kafka.tools.StorageTool", "format", "--cluster-id", CLUSTER_ID, "--config", file)

    def _file(self, node: int) -> Path:
        return self.directory / f"server-{node}.properties"

    def _properties(self, node: int, port: int, side_port: int) -> dict[str, str]:
        listener = "SASL_PLAINTEXT" if self.acl else "PLAINTEXT"
        address, side = f"{listener}://127.0.0.1:{port}", f"127.0.0.1:{side_port}"
        data = self.directory / ("data" if node == 1 else f"data-{node}")
        own = {**PROPERTIES, "log.dirs": str(data), **self.config}
        if self.kraft:
            own |= {
                "node.id": str(node),
                "process.roles": "broker,controller" if node == 1 else "broker",
                "listeners": f"{address},CONTROLLER://{side}" if node == 1 else address,
                "advertised.listeners": address,
                "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,{listener}:{listener}",
                "controller.listener.names": "CONTROLLER",
                "controller.quorum.voters": f"1@{side}",
            }
        else:
            own |= {"broker.id": "1", "listeners": address, "zookeeper.connect": side}
        if self.network is not None:
            own = own | self._behind_proxies(node, address, side)
        if self.racks and node != CONTROLLER:
            own["broker.rack"] = self.racks[node - 1]
        if self.listeners:
            addresses = ",".join(f"{protocol}://{host}:{port}" for protocol, (host, port) in self.listeners.items())
            own["listeners"] = f"{addresses},CONTROLLER://{side}"
            own["advertised.listeners"] = addresses
            own["listener.security.protocol.map"] = ",".join(
                ["CONTROLLER:PLAINTEXT", *(f"{protocol}:{protocol}" for protocol in self.listeners)]
            )
        if self.acl:
            login = "org.apache.kafka.common.security.plain.PlainLoginModule required username=admin password=admin"
            accounts = " ".join(f'user_{user}="{user}"' for user in USERS)
            own |= {
                "security.inter.broker.protocol": listener,
                "sasl.enabled.mechanisms": "PLAIN",
                "sasl.mechanism.inter.broker.protocol": "PLAIN",
                "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{login} {accounts};",
                "authorizer.class.name": self._authorizer(),
                "super.users": "User:admin;User:ANONYMOUS",
            }
        return own

    def _behind_proxies(self, node: int, advertised: str, controller: str) -> dict[str, str]:
        """Return the properties of a broker or the controller whose listeners are advertised at ports of proxies."""
        own = {
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,BETWEEN:PLAINTEXT",
            "controller.quorum.voters": f"{CONTROLLER}@{controller}",
        }
        if node == CONTROLLER:
            return own | {
                "process.roles": "controller",
                "listeners": f"CONTROLLER://127.0.0.1:{self._bound[node]}",
                "advertised.listeners": f"CONTROLLER://{controller}",
            }
        return own | {
            "process.roles": "broker",
            "listeners": f"PLAINTEXT://127.0.0.1:{self._bound[node]},BETWEEN://127.0.0.1:{self._between[node]}",
            "advertised.listeners": f"{advertised},BETWEEN://127.0.0.1:{self._advertised[node]}",
            "inter.broker.listener.name": "BETWEEN",
        }

    def _authorizer(self) -> str:
        if self.kraft:
            return "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
        return "kafka.security.authorizer.AclAuthorizer"

    def _start_zookeeper(self, port: int) -> None:
        properties = self.directory / "zookeeper.properties"
        properties.write_text(
            f"dataDir={self.directory / 'zookeeper'}\nclientPort={port}\nclientPortAddress=127.0.0.1\n"
            "admin.enableServer=false\nmaxClientCnxns=0\n"
        )
        self._launch(0, "org.apache.zookeeper.server.quorum.QuorumPeerMain", properties)
        self._wait(lambda: _accepts(port))

    def _java(self, main: str, *arguments: object) -> list[str]:
        log = self.directory / "log4j.properties"
        new = _numbers(self.release) >= (4,)
        log.write_text(LOG4J2 if new else LOG4J)
        option = f"-Dlog4j2.configurationFile={log}" if new else f"-Dlog4j.configuration=file:{log}"
        return ["java", f"-Xmx{self.heap}", option, "-cp", f"{_jars(self.release)}/*", main, *map(str, arguments)]

    def _run(self, main: str, *arguments: object) -> None:
        done = subprocess.run(self._java(main, *arguments), capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{main}: {done.stdout}{done.stderr}")

    def _launch_broker(self, node: int) -> None:
        self._launch(node, "kafka.Kafka", self._file(node))

    def _launch(self, node: int, main: str, *arguments: object) -> None:
        with (self.directory / "server.log").open("ab") as log:
            process = subprocess.Popen(self._java(main, *arguments), stdout=log, stderr=log, start_new_session=True)
        self.processes[node] = process

    def _answers(self) -> bool:
        return self._listed() == self.processes.keys() - {0}

    def _listed(self) -> set[int]:
        """Return the brokers that are running and not fenced, according to the first one."""
        host, _, port = self.bootstrap_servers.rpartition(":")
        connection = Connection(host, int(port), "admin" if self.acl else None, timeout_s=5)
        try:
            version = 4 if _numbers(self.release) >= (0, 11) else 0
            return {broker["node_id"] for broker in connection.ask("Metadata", version, {"topics": []})["brokers"]}
        finally:
            connection.close()

    def _wait(self, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline and all(each.poll() is None for each in self.processes.values()):
            try:
                if ready():
                    return
            except (OSError, Closed, NoAnswer):
                pass
            time.sleep(0.05)
        log = (self.directory / "server.log").read_text(errors="replace")
        raise RuntimeError(f"Apache Kafka {self.release} did not start:\n{log[-3000:]}")

    def _stop(self) -> None:
        if self.network is not None:
            self.network.close()
        for process in reversed(self.processes.values()):
            process.send_signal(signal.SIGCONT)
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()
        shutil.rmtree(self.directory, ignore_errors=True)


def _install(release: str) -> None:
    """Let Maven copy the jars of a release into the cache if they are missing."""
    if _jars(release).exists():
        return
    version = version_of(release)
    wanted = [("org.apache.kafka", f"kafka_{'2.13' if _numbers(release) >= (2, 4) else '2.11'}", version)]
    if _numbers(release) >= (4,):
        wanted.append(("org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3"))
    elif _numbers(release) >= (3, 2):
        wanted.append(("org.slf4j", "slf4j-reload4j", "1.7.36"))
    _jars(release).parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_jars(release).parent) as work:
        pom = Path(work, "pom.xml")
        pom.write_text(_pom(wanted))
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={work}/jars"]
        subprocess.run(["mvn", "-B", "-q", "-f", str(pom), *goal], check=True, stdin=subprocess.DEVNULL)
        Path(work, "jars").rename(_jars(release))


def _pom(wanted: list[tuple[str, str, str]]) -> str:
    # Some releases depend on a tools jar that was never published; the broker does not need it.
    without = "<exclusion><groupId>org.apache.kafka</groupId><artifactId>kafka-tools-api</artifactId></exclusion>"
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
        f"<exclusions>{without}</exclusions></dependency>"
        for group, artifact, version in wanted
    )
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>oracle</groupId><artifactId>oracle</artifactId>"
        f"<version>1</version><packaging>pom</packaging><dependencies>{dependencies}</dependencies></project>"
    )


def _accepts(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), 1):
        return True


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
