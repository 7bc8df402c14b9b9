"""Tests of `kafkalet serve`: its options, and how it starts, runs and stops."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kafka import KafkaProducer  # type: ignore[import-untyped]

from kafkalet.broker.cluster.new_topics import NewTopic
from kafkalet.commands.command_line import UsageError, parse
from kafkalet.commands.serve import SERVE_OPTIONS, Serve, parse_topic
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.record import Record
from tests.unit.storage.test_overlay import listing

from .processes import COMMAND, ready, run, serving

# Options


def parsed(*arguments: str) -> Serve:
    return Serve.of(parse(arguments, SERVE_OPTIONS, "serve"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nope", "1"], "unknown option --nope; see kafkalet serve --help"),
        (["--lissten", "1"], "unknown option --lissten; did you mean --listen?"),
        (["--data_dir", "1"], "unknown option --data_dir; did you mean --data-dir?"),
        (["--key-col", "1"], "unknown option --key-col; did you mean --key?"),
        (["nope"], "unknown argument nope; see kafkalet serve --help"),
        (["--feature", "metadata.version=3.7"], "--feature metadata.version=3.7: expected a number as the level"),
        (["--listen"], "--listen needs a value: --listen [PROTOCOL://]HOST:PORT"),
        (["--listen", "--brokers", "3"], "--listen needs a value: --listen [PROTOCOL://]HOST:PORT"),
        (["--brokers", "1", "--brokers", "2"], "--brokers is given twice; it takes one value"),
        (["--listen", "://a:1"], "--listen ://a:1: the protocol is empty; expected [PROTOCOL://]HOST:PORT"),
        (
            ["--advertise", "a:1", "--advertise", "b:2"],
            "--advertise a:1: with several addresses, expected NAME=HOST:PORT",
        ),
        (
            ["--advertise", "x=a:1", "--advertise", "X=b:2"],
            "--advertise X=b:2: listener X is given twice; name each listener once",
        ),
        (["--listen", "9092x"], "--listen 9092x: expected HOST:PORT with a port from 0 to 65535"),
        (["--listen", "h:70000"], "--listen h:70000: expected HOST:PORT with a port from 0 to 65535"),
        (["--advertise", "h:0"], "--advertise h:0: expected HOST:PORT with a port from 1 to 65535"),
        (["--brokers", "0"], "--brokers 0: expected a number of at least 1"),
        (["--brokers", "many"], "--brokers many: expected a number of at least 1"),
        (["--data-dir", ""], "--data-dir: the directory name is empty"),
        (["--read-only"], "--read-only: the directory is missing; name it with --data-dir DIR"),
        (
            ["--read-only", "--data-dir", "d", "--topic", "t"],
            "--topic t: brokers with --read-only accept no topics and no records",
        ),
        (
            ["--read-only", "--data-dir", "d", "--load", "t=f"],
            "--load t=f: brokers with --read-only accept no topics and no records",
        ),
        (["--topic", "t:x"], "--topic t:x: x is not a number of partitions; expected NAME:PARTITIONS, as in t:3"),
        (["--topic", "t:1:x"], "--topic t:1:x: x is not KEY=VALUE, as in t:1:retention.ms=1000"),
        (["--topic", ":1"], "--topic :1: the name is missing; expected NAME[:PARTITIONS[:KEY=VALUE,...]]"),
        (["--topic", "t", "--topic", "t:3"], "--topic t:3: topic t is given twice; name each topic once"),
        (["--set", "num.partitions"], "--set num.partitions: expected KEY=VALUE"),
        (
            ["--set", "b:broker.rack=x"],
            "--set b:broker.rack=x: expected KEY=VALUE or, for one broker, ID:KEY=VALUE, as in 2:broker.rack=b",
        ),
        (["--load", "flights.csv"], "--load flights.csv: expected TOPIC=FILE"),
        (["--key", "id"], "--key id: only applies to files loaded with --load; --load is missing"),
        (["--log-level", "loud"], "--log-level loud: expected one of debug, info, warning, error"),
        (["--config", "/no/such/file"], "--config /no/such/file: No such file or directory"),
        (["--ready-file", ""], "--ready-file: the file name is empty"),
        (["--journal", ""], "--journal: the file name is empty"),
        (["--journal", "-"], "--journal -: the journal cannot be written to stdout; name a file"),
    ],
)
def test_invalid_option_is_named_with_the_allowed_values(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        parsed(*arguments)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("t", NewTopic("t", -1, {})),
        ("t:3", NewTopic("t", 3, {})),
        ("t:3:retention.ms=5", NewTopic("t", 3, {"retention.ms": "5"})),
        ("t::retention.ms=5", NewTopic("t", -1, {"retention.ms": "5"})),
        (
            "t:1:cleanup.policy=compact,delete,segment.ms=9",
            NewTopic("t", 1, {"cleanup.policy": "compact,delete", "segment.ms": "9"}),
        ),
        (
            "t:1:leader.replication.throttled.replicas=0:1",
            NewTopic("t", 1, {"leader.replication.throttled.replicas": "0:1"}),
        ),
    ],
)
def test_topic_option_is_parsed(text: str, topic: NewTopic) -> None:
    assert parse_topic(text) == topic


@pytest.mark.parametrize("names", [("--key", "--timestamp"), ("--key-column", "--timestamp-column")], ids=str)
def test_column_options_have_aliases(names: tuple[str, str]) -> None:
    options = parsed("--load", "t=a.csv", names[0], "id", f"{names[1]}=at")
    assert (options.key, options.timestamp) == ("id", "at")


def test_properties_of_the_command_line_override_those_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text("num.partitions=2\nlog.retention.ms=5\n")
    options = parsed("--set", "num.partitions=3", "--config", str(tmp_path / "server.properties"))
    assert options.properties == {"num.partitions": "3", "log.retention.ms": "5"}


def test_property_with_a_broker_id_is_that_of_one_broker() -> None:
    options = parsed("--set", "broker.rack=a", "--set", "2:broker.rack=b:c", "--set", "2:message.max.bytes=5")
    assert options.properties == {"broker.rack": "a"}
    assert options.own_properties == {2: {"broker.rack": "b:c", "message.max.bytes": "5"}}


def test_feature_options_have_levels() -> None:
    options = parsed("--feature", "metadata.version=20", "--feature", "share.version=0")
    assert options.features == {"metadata.version": 20, "share.version": 0}


def test_unsupported_feature_level_is_a_usage_error() -> None:
    done = run("serve", "--listen", "127.0.0.1:0", "--kafka-version", "4.4", "--feature", "metadata.version=6")
    assert done.returncode == 2
    assert "metadata.version=6: Kafka 4.4 supports the levels 7 to 33" in done.stderr


def test_listeners_of_a_properties_file_apply_unless_listen_is_given(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("listeners=PLAINTEXT://:1234\nadvertised.listeners=PLAINTEXT://broker:5678\n")
    options = parsed("--config", str(path))
    assert (options.address, options.advertise) == (None, None)
    assert options.properties["listeners"] == "PLAINTEXT://:1234"
    options = parsed("--config", str(path), "--listen", "h:1", "--advertise", "a:2")
    assert (options.address, options.advertise, options.properties) == (("h", 1), ("a", 2), {})
    assert parsed().address == ("127.0.0.1", 9092)


def test_listeners_have_the_names_of_the_options() -> None:
    options = parsed("--listen", "sasl_plaintext://h:1", "--listen", ":2", "--listen", "SSL://[::1]:3")
    assert options.properties["listeners"] == "sasl_plaintext://h:1,PLAINTEXT://:2,SSL://[::1]:3"
    assert options.address is None
    assert parsed("--advertise", "x=a:1", "--advertise", "y=b:2").advertise == {"X": ("a", 1), "Y": ("b", 2)}


# Serving


def test_ready_line_and_file_name_each_listener(tmp_path: Path) -> None:
    path = tmp_path / "ready"
    more = ("--listen", "SECOND://127.0.0.1:0", "--advertise", "SECOND=kafka:9094", "--ready-file", str(path))
    with serving(*more, "--set", "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SECOND:PLAINTEXT") as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert re.fullmatch(r"kafkalet ready bootstrap=127\.0\.0\.1:\d+ SECOND=kafka:9094\n", line)
        assert path.read_text().splitlines()[1] == "SECOND=kafka:9094"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_signal_stops_the_broker_cleanly(number: signal.Signals, tmp_path: Path) -> None:
    with serving("--topic", "t:3", environment={"TMPDIR": str(tmp_path)}) as process:
        [address] = ready(process)
        with socket.create_connection(address):
            process.send_signal(number)
            out, _ = process.communicate(timeout=10)
    assert process.returncode == 0
    assert out == ""
    assert list(tmp_path.iterdir()) == []


def test_ready_line_names_every_broker() -> None:
    with serving("--brokers", "3") as process:
        addresses = ready(process)
        assert len(set(addresses)) == 3
        for address in addresses:
            socket.create_connection(address).close()


def test_advertised_address_is_returned_to_clients() -> None:
    with serving("--advertise", "broker.example:1234") as process:
        assert ready(process) == [("broker.example", 1234)]


def test_localhost_is_advertised_for_every_interface() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "kafkalet", "serve", "--listen", "0.0.0.0:0", "--log-level", "error"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        [(host, port)] = ready(process)
        assert host == "localhost"
        socket.create_connection((host, port)).close()
        process.terminate()


def test_port_in_use_prints_one_line_and_returns_1() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "--listen", f"127.0.0.1:{port}")
    assert done.returncode == 1
    assert done.stderr == (
        f"kafkalet: cannot listen on 127.0.0.1:{port}: Address already in use; "
        "choose another address with --listen; port 0 picks a free port\n"
    )
    assert done.stdout == ""


def test_data_directory_that_cannot_be_created_prints_one_line_and_returns_1(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("serve", "--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "file" / "dir"))
    assert done.returncode == 1
    assert done.stderr == f"kafkalet: {tmp_path}/file/dir: Not a directory\n"


def test_data_directory_is_kept(tmp_path: Path) -> None:
    with serving("--data-dir", str(tmp_path), "--topic", "kept:2") as process:
        ready(process)
        process.terminate()
        process.communicate(timeout=10)
    assert {"kept-0", "kept-1"} <= {path.name for path in tmp_path.iterdir()}


def test_unknown_property_logs_a_warning() -> None:
    with serving("--set", "num.partitionz=3") as process:
        ready(process)
        process.terminate()
        _, errors = process.communicate(timeout=10)
    assert "WARNING" in errors
    assert "num.partitionz" in errors


def test_log_level_error_logs_nothing() -> None:
    with serving("--set", "num.partitionz=3", "--log-level", "error") as process:
        ready(process)
        process.terminate()
        _, errors = process.communicate(timeout=10)
    assert errors == ""


def test_log_level_debug_shows_each_request() -> None:
    with serving("--log-level", "debug") as process:
        [address] = ready(process)
        with socket.create_connection(address) as client:
            client.sendall(b"\0\0\0\x0a" + b"\0\x12\0\0" + b"\0\0\0\x07" + b"\xff\xff")
            assert client.recv(4)
        process.terminate()
        _, errors = process.communicate(timeout=10)
    assert re.search(r"DEBUG   kafkalet\.requests: conn=1 client='' ApiVersions v0 -> \d+ APIs in [\d.]+ ms\n", errors)


# Data directories


def left_by_broker(path: Path, *, topic: str = "t:2") -> Path:
    """Create a data directory of a stopped broker."""
    with serving("--data-dir", str(path), "--topic", topic) as process:
        ready(process)
        process.terminate()
        process.communicate(timeout=10)
    return path


def start_error(path: Path, *arguments: str) -> str:
    """Return the line on stderr of a broker that refuses to start in a directory."""
    done = run("serve", "--listen", "127.0.0.1:0", "--data-dir", str(path), *arguments)
    assert done.returncode == 1
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert "Traceback" not in done.stderr
    assert [line for line in lines if line.startswith("kafkalet: ")] == lines[-1:]
    return lines[-1].removeprefix("kafkalet: ")


def test_directory_in_use_prints_one_line_and_returns_1(tmp_path: Path) -> None:
    with serving("--data-dir", str(tmp_path)) as process:
        ready(process)
        assert start_error(tmp_path) == f"{tmp_path} is in use by another broker"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("version=1", "version=7", "unknown version 7; expected 0 or 1"),
        ("node.id=1\n", "", "node.id is missing"),
        ("cluster.id=", "cluster.id=x", "cluster.id is x"),
    ],
)
def test_directory_of_another_owner_prints_one_line_and_returns_1(
    tmp_path: Path, old: str, new: str, reason: str
) -> None:
    properties = left_by_broker(tmp_path) / "meta.properties"
    properties.write_text(properties.read_text().replace(old, new))
    assert start_error(tmp_path).startswith(f"{properties}: {reason}")


def test_directory_of_another_broker_id_prints_one_line_and_returns_1(tmp_path: Path) -> None:
    left_by_broker(tmp_path)
    line = start_error(tmp_path, "--set", "node.id=9")
    assert line.startswith(f"{tmp_path}/meta.properties: the directory belongs to broker 1, but the id of this broker")


@pytest.mark.parametrize(
    "properties", ["version=0\nbroker.id=0\ncluster.id=abc\n", "version=1\nnode.id=0\ncluster.id=abc\n"]
)
def test_directory_of_apache_kafka_opens_without_node_id_option(tmp_path: Path, properties: str) -> None:
    (tmp_path / "meta.properties").write_text(properties)
    with serving("--data-dir", str(tmp_path)) as process:
        ready(process)
    assert (tmp_path / "meta.properties").read_text() == properties


def test_directory_keeps_the_id_that_it_was_created_with(tmp_path: Path) -> None:
    for arguments in (["--set", "node.id=5", "--topic", "t"], []):
        with serving("--data-dir", str(tmp_path), *arguments) as process:
            ready(process)
            process.terminate()
            process.communicate(timeout=10)
    assert '"leader": -1' in (tmp_path / "kafkalet.json").read_text()  # all brokers have stopped
    assert '"replicas": [5]' in (tmp_path / "kafkalet.json").read_text()


def test_metadata_of_other_brokers_prints_one_line_and_returns_1(tmp_path: Path) -> None:
    left_by_broker(tmp_path)
    metadata = tmp_path / "kafkalet.json"
    metadata.write_text(metadata.read_text().replace('"replicas": [1]', '"replicas": [5]'))
    assert start_error(tmp_path) == (
        f"{metadata}: its partitions belong to broker 5, but the id of this broker is 1; set node.id=5"
    )


def test_damaged_metadata_prints_one_line_and_returns_1(tmp_path: Path) -> None:
    metadata = left_by_broker(tmp_path) / "kafkalet.json"
    metadata.write_bytes(b"\xff" + metadata.read_bytes())
    assert start_error(tmp_path).startswith(f"{metadata}: ")


def test_invalid_saved_property_prints_one_line_and_returns_1(tmp_path: Path) -> None:
    metadata = left_by_broker(tmp_path, topic="t:1:retention.ms=5") / "kafkalet.json"
    metadata.write_text(metadata.read_text().replace('"retention.ms": "5"', '"retention.ms": "x"'))
    assert (
        start_error(tmp_path)
        == f"{metadata}: Invalid value x for configuration retention.ms: Not a number of type LONG"
    )


def test_checkpoint_that_is_a_directory_prints_one_line_and_returns_1(tmp_path: Path) -> None:
    checkpoint = left_by_broker(tmp_path) / "recovery-point-offset-checkpoint"
    checkpoint.unlink()
    checkpoint.mkdir()
    assert start_error(tmp_path) == f"{checkpoint}: Is a directory"


def test_directories_that_are_not_logs_are_ignored(tmp_path: Path) -> None:
    left_by_broker(tmp_path)
    names = (
        "t-99999999999",
        "backup-20240101",
        "t-2147483647",
        "backup-1500",
        "x-delete",
        "t-007",
        "a b-0",
        "lost+found",
    )
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "precious").write_text("x")
    with serving("--data-dir", str(tmp_path)) as process:
        ready(process)
        process.terminate()
        process.communicate(timeout=10)
    assert {path.parent.name for path in tmp_path.glob("*/precious")} == {*names}
    topics = json.loads((tmp_path / "kafkalet.json").read_text())["topics"]
    assert [(topic["name"], len(topic["partitions"])) for topic in topics] == [("t", 2)]


def test_signal_interrupts_a_start(tmp_path: Path) -> None:
    """The start must recover a large log; the directory is not marked as clean afterwards."""
    left_by_broker(tmp_path, topic="t:1")
    (tmp_path / ".kafka_cleanshutdown").unlink()
    log = tmp_path / "t-0" / "00000000000000000000.log"
    with log.open("wb") as file:
        for number in range(200_000):
            file.write(build_batch([Record(number, 1000, None, b"v" * 50)], base_offset=number))
    with serving("--data-dir", str(tmp_path)) as process:
        assert process.stderr is not None
        while "recovering" not in process.stderr.readline():
            pass
        process.terminate()
        out, errors = process.communicate(timeout=10)
    assert (process.returncode, out) == (0, "")
    assert "Traceback" not in errors
    assert not (tmp_path / ".kafka_cleanshutdown").exists()


# Standard output and error that are closed, full, or not read


def test_closed_pipe_before_the_ready_line_stops_the_broker_with_one_line() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(COMMAND, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=30, check=False)
    os.close(writing)
    assert done.returncode == 1
    assert done.stderr == "kafkalet: cannot write to standard output: Broken pipe\n"


def test_closed_pipe_after_the_ready_line_does_not_stop_the_broker() -> None:
    with serving() as process:
        [address] = ready(process)
        assert process.stdout is not None
        process.stdout.close()
        socket.create_connection(address).close()
        process.terminate()
        assert process.wait(timeout=10) == 0


@contextmanager
def serving_without(closed: str, data_dir: Path) -> Iterator[tuple[str, int]]:
    """Start a broker with some of its standard descriptors closed and return its address. It must stop cleanly."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = f"exec {sys.executable} -m kafkalet serve --listen 127.0.0.1:{port} --data-dir {data_dir} {closed}"
    with subprocess.Popen(["bash", "-c", command]) as process:
        try:
            for _ in range(1000):
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except ConnectionRefusedError:
                    assert process.poll() is None
                    time.sleep(0.01)
            yield "127.0.0.1", port
            process.terminate()
            assert process.wait(timeout=10) == 0
        finally:
            process.kill()


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_broker_serves_without_standard_descriptors(closed: str, tmp_path: Path) -> None:
    with serving_without(closed, tmp_path) as address, socket.create_connection(address) as client:
        client.sendall(b"\0\0\0\x0a" + b"\0\x12\0\0" + b"\0\0\0\x07" + b"\xff\xff")
        assert client.recv(10)[4:] == b"\0\0\0\x07\0\0"


def test_broker_serves_if_its_log_is_not_read() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with subprocess.Popen(
        [*COMMAND, "--set", "num.partitionz=3"], stdout=subprocess.PIPE, stderr=writing, text=True
    ) as process:
        os.close(writing)
        [address] = ready(process)
        socket.create_connection(address).close()
        process.terminate()
        assert process.wait(timeout=10) == 0


def test_broker_under_nohup_survives_its_terminal() -> None:
    with subprocess.Popen(["nohup", *COMMAND], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        [address] = ready(process)
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGPIPE)
        with socket.create_connection(address) as client:
            client.sendall(b"\0\0\0\x0a" + b"\0\x12\0\0" + b"\0\0\0\x07" + b"\xff\xff")
            assert client.recv(10)[4:] == b"\0\0\0\x07\0\0"
        process.terminate()
        process.communicate(timeout=10)
    assert process.returncode == 0


# Journal


def test_journal_has_a_line_for_each_request(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with serving("--journal", str(path)) as process:
        [(host, port)] = ready(process)
        client = KafkaProducer(bootstrap_servers=f"{host}:{port}", client_id="app")
        client.send("orders", b"one").get(10)
        lines = [json.loads(line) for line in path.read_text().splitlines()]  # while the broker is running
        client.close()
    [produce] = [line for line in lines if line["api"] == "Produce"]
    assert (produce["client_id"], produce["errors"]) == ("app", [])
    assert produce["response"]["responses"][0]["partition_responses"][0]["base_offset"] == 0


def test_journal_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "journal"
    done = run("serve", "--listen", "127.0.0.1:0", "--journal", str(path))
    assert (done.returncode, done.stderr) == (1, f"kafkalet: --journal {path}: No such file or directory\n")


def test_read_only_broker_serves_a_directory_that_it_leaves_unchanged(tmp_path: Path) -> None:
    with serving("--data-dir", str(tmp_path), "--topic", "kept:2") as process:
        ready(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    before = listing(tmp_path)
    with serving("--data-dir", str(tmp_path), "--read-only") as process:
        ready(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert listing(tmp_path) == before


def test_missing_directory_is_not_created_for_a_read_only_broker(tmp_path: Path) -> None:
    done = run("serve", "--listen", "127.0.0.1:0", "--read-only", "--data-dir", str(tmp_path / "missing"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "missing" in done.stderr
    assert not (tmp_path / "missing").exists()
