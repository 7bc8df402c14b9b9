"""Tests of the commands of `kafkalet ctl`: what each does to the brokers, and what it prints."""

import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import Consumer, Producer
from kafka import KafkaProducer

from kafkalet.commands import ctl_commands
from kafkalet.commands.ctl import main
from kafkalet.commands.ctl_commands import Command, Input, commands, resolved
from kafkalet.control.client import ControlClient
from kafkalet.control.route import find
from kafkalet.control.routes import areas
from kafkalet.control.shapes import check_fields
from tests.wire.control.asking import Asking, asking

Ctl = Callable[..., str]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Asking]:
    with asking(brokers=2) as found:
        monkeypatch.setenv("KAFKALET_CONTROL", found.control.url)
        yield found


@pytest.fixture
def ctl(api: Asking, capsys: pytest.CaptureFixture[str]) -> Ctl:
    """Run a command that succeeds, and return what it prints."""

    def run(*arguments: str) -> str:
        capsys.readouterr()
        status = main(arguments)
        out, err = capsys.readouterr()
        assert (status, err) == (0, "")
        return out

    return run


def values(api: Asking, topic: str = "t") -> list[Any]:
    return [record["value"] for record in api.get(f"/v1/topics/{topic}/records")["records"]]


def test_topic_is_created_shown_and_deleted(ctl: Ctl, api: Asking) -> None:
    out = ctl("topic", "create", "t", "--partitions", "2", "--replication-factor", "2", "--config", "retention.ms=5")
    assert out.splitlines()[1].endswith("retention.ms=5")
    assert ctl("topic", "show", "t") == out
    assert ctl("topic", "delete", "t") == ""
    assert api.get("/v1/topics")["topics"] == []


def test_topic_is_changed(ctl: Ctl, api: Asking) -> None:
    ctl("topic", "create", "t", "--config", "retention.ms=5", "--config", "max.message.bytes=100000")
    ctl("topic", "add-partitions", "t", "2")
    ctl("topic", "configure", "t", "retention.ms=7", "max.message.bytes=")
    topic = api.get("/v1/topics/t")
    assert (len(topic["partitions"]), topic["config"]) == (3, {"retention.ms": "7"})


def test_internal_topics_are_listed_on_request(ctl: Ctl, api: Asking) -> None:
    api.cluster.topic("__consumer_offsets").create()
    assert "__consumer_offsets" not in ctl("topics")
    assert "__consumer_offsets" in ctl("topics", "--internal")


def test_record_is_sent_with_all_its_parts(ctl: Ctl, api: Asking) -> None:
    out = ctl("send", "t", "v", "--key", "k", "--header", "a=b=c", "--timestamp", "5", "--partition", "0")
    assert out.split() == ["PARTITION", "OFFSET", "0", "0"]
    [record] = api.get("/v1/topics/t/records")["records"]
    assert (record["key"], record["value"], record["timestamp"]) == ("k", "v", 5)
    assert record["headers"] == [{"name": "a", "value": "b=c", "value_encoding": "text"}]
    assert "a=b=c" in ctl("records", "t")


def test_lines_of_stdin_are_sent(ctl: Ctl, api: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\r\nb\n\n\xff\n")))
    ctl("send", "t", "--compression", "gzip")
    assert values(api) == ["a", "b", "", "/w=="]


def test_ten_thousand_lines_are_sent_in_batches_that_the_topic_accepts(
    ctl: Ctl, api: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have 2 MB; `max.message.bytes` is 1 MiB by default."""
    lines = [f"{number:0200}".encode() for number in range(10_000)]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n".join(lines))))
    assert ctl("send", "t").splitlines()[1:] == ["        0  10000             0         9999"]
    assert api.cluster.topic("t").values() == lines


def test_two_hundred_thousand_lines_are_sent_and_summarized(
    ctl: Ctl, api: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.cluster.topic("t", 2)
    lines = [str(number).encode() for number in range(200_000)]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n".join(lines))))
    assert len(ctl("send", "t").splitlines()) == 3
    assert sorted(api.cluster.topic("t").values()) == sorted(lines)


def test_lines_are_read_one_request_ahead_at_most(ctl: Ctl, api: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = api.cluster.topic("t", 1)
    ahead = []

    class Lines:
        def __iter__(self) -> Iterator[bytes]:
            for number in range(10):
                ahead.append(number - topic.log().high_watermark)
                yield b"x\n"

    monkeypatch.setattr(ctl_commands, "MAX_LINES", 2)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Lines()))
    ctl("send", "t")
    assert max(ahead) == 2


def test_lines_are_sent_in_several_requests_and_a_failure_says_how_many_were_sent(
    api: Asking, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = api.cluster.topic("t", config={"max.message.bytes": 1000})
    monkeypatch.setattr(ctl_commands, "MAX_JSON_BYTES", 1000)
    lines = [b"a" * 500, b"b" * 500, b"c" * 2000, b"d"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n".join(lines))))
    assert main(["send", "t"]) == 1
    message = capsys.readouterr().err
    assert re.fullmatch(
        r"kafkalet: MESSAGE_TOO_LARGE: t-0: the batch has \d+ bytes, but max\.message\.bytes is 1000; "
        r"2 records sent before\n",
        message,
    )
    assert topic.values() == lines[:2]


def test_arguments_that_are_not_utf8_are_sent_as_bytes(ctl: Ctl, api: Asking) -> None:
    ctl("send", "t", "\udcff")
    assert values(api) == ["/w=="]


def test_records_are_selected(ctl: Ctl, api: Asking) -> None:
    for index in range(4):
        ctl("send", "t", f"v{index}", "--timestamp", str(index))
    assert "v0" not in ctl("records", "t", "--offset", "1")
    assert "v2" not in ctl("records", "t", "--last", "1")
    assert "v1" not in ctl("records", "t", "--time", "2", "--partition", "0", "--isolation", "read_committed")
    assert "there are more records" in ctl("records", "t", "--limit", "2")


def test_records_have_readable_timestamps_and_unambiguous_values(ctl: Ctl) -> None:
    for value in ("-", "", "\udcff"):
        ctl("send", "t", "--timestamp", "1738324800123", "--header", "h=", "--", value)
    shown = [line.split() for line in ctl("records", "t").splitlines()[1:]]
    assert [row[2:] for row in shown] == [
        ["2025-01-31T12:00:00.123Z", "-", 'h=""', value] for value in ('"-"', '""', "base64:/w==")
    ]
    assert json.loads(ctl("records", "t", "--json"))["records"][0]["timestamp"] == 1738324800123


def test_control_characters_of_records_do_not_reach_the_terminal(ctl: Ctl) -> None:
    ctl("send", "t", "a\x1b[31m\n")
    assert "a\\x1b[31m\\n" in ctl("records", "t")


def test_wait_shows_the_records(ctl: Ctl) -> None:
    ctl("send", "t", "one two", "--key", "k", "--timestamp", "9")
    out = ctl(
        "wait",
        "t",
        "1",
        "--key",
        "k",
        "--value-contains",
        "two",
        "--since-ms",
        "5",
        "--partition",
        "0",
        "--timeout",
        "9",
    )
    assert "one two" in out
    assert "one two" in ctl("wait", "t", "--value", "one two", "--isolation", "read_committed")


def test_settle_prints_nothing(ctl: Ctl) -> None:
    assert ctl("settle", "--timeout", "5") == ""
    ctl("send", "t", "x")
    ctl("group", "seek", "g", "latest", "--topic", "t")
    assert ctl("settle", "--group", "g") == ""


def test_settle_waits_for_no_group_with_false(ctl: Ctl) -> None:
    ctl("topic", "create", "t")
    for options in (("--group", "true"), ("--group", "false")):
        assert ctl("settle", *options) == ""


def test_groups_are_moved_waited_for_and_deleted(ctl: Ctl, api: Asking) -> None:
    ctl("send", "t", "x", "--timestamp", "7")
    assert ctl("group", "seek", "g", "0", "--topic", "t", "--partition", "0").splitlines()[1].endswith("1")
    assert ctl("group", "seek", "g", "--timestamp", "9", "--topic", "t").splitlines()[1].endswith("0")
    assert ctl("group", "wait-for-lag", "g", "--lag", "0") == ctl("group", "show", "g")
    assert ctl("groups").split()[-6:] == ["g", "Empty", "classic", "-", "1", "0"]
    assert ctl("group", "delete", "g") == ""
    assert api.get("/v1/groups")["groups"] == []


def test_members_are_evicted_and_rebalanced(ctl: Ctl, api: Asking) -> None:
    ctl("send", "t", "x")
    servers = api.cluster.bootstrap_servers
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "g", "client.id": "app"})
    consumer.subscribe(["t"])
    while not consumer.assignment():
        consumer.poll(0.05)
    assert "app" in ctl("group", "wait-until-stable", "g", "--members", "1")
    [member] = api.get("/v1/groups/g")["members"]
    assert "PreparingRebalance" in ctl("group", "rebalance", "g")
    assert member["member_id"] not in ctl("group", "evict", "g", member["member_id"])
    consumer.close()


def test_transactions_are_listed_and_aborted(ctl: Ctl, api: Asking) -> None:
    producer = Producer({"bootstrap.servers": api.cluster.bootstrap_servers, "transactional.id": "tx"})
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce("t", b"x")
    producer.flush()
    assert ctl("transactions").splitlines()[1].split()[:2] == ["tx", "Ongoing"]
    assert "CompleteAbort" in ctl("transaction", "abort", "tx")


def test_requests_are_shown_and_cleared(ctl: Ctl, api: Asking) -> None:
    producer = Producer({"bootstrap.servers": api.cluster.bootstrap_servers, "client.id": "app"})
    producer.produce("t", b"x")
    producer.flush()
    assert "client=app Produce" in ctl(
        "requests", "--api", "Produce", "--client-id", "app", "--topic", "t", "--limit", "9"
    )
    assert ctl("requests", "--api", "Produce", "--error", "true") == "no requests\n"
    assert json.loads(ctl("requests", "--api", "Produce", "--messages", "--json"))["requests"][0]["request"]
    assert ctl("requests", "clear") == ""
    assert ctl("requests", "--api", "Produce") == "no requests\n"
    assert ctl("requests", "unsupported").startswith("API  VERSION")


def test_connections_are_listed_and_reset(ctl: Ctl, api: Asking) -> None:
    producer = KafkaProducer(bootstrap_servers=api.cluster.bootstrap_servers, client_id="app")
    producer.send("t", b"x").get(10)
    assert "app" in ctl("connections")
    connection = api.get("/v1/connections")["connections"][0]["id"]
    assert ctl("connection", "reset", connection) == ""
    assert connection not in ctl("connections")
    producer.close()


def test_faults_are_added_released_and_removed(ctl: Ctl, api: Asking) -> None:
    out = ctl("fault", "add", "Produce", "--error", "NOT_LEADER_OR_FOLLOWER", "--times", "2", "--client-id", "app")
    assert "fault('Produce', error='NOT_LEADER_OR_FOLLOWER', client_id='app', times=2)" in out
    ctl("fault", "add", "Fetch", "Produce", "--hang", "--drop-response", "--probability", "0.5", "--seed", "3")
    first, second = [fault["id"] for fault in api.get("/v1/faults")["faults"]]
    assert len(ctl("faults").splitlines()) == 3
    assert len(ctl("fault", "release", str(second)).splitlines()) == 2
    assert len(ctl("fault", "remove", str(first)).splitlines()) == 2
    ctl("faults", "remove")
    assert api.get("/v1/faults")["faults"] == []


def test_fault_that_has_not_fired_shows_which_requests_did_not_match(ctl: Ctl, api: Asking) -> None:
    ctl("fault", "add", "Produce", "--error", "NOT_LEADER_OR_FOLLOWER", "--topic", "other")
    producer = Producer({"bootstrap.servers": api.cluster.bootstrap_servers})
    producer.produce("t", b"x")
    assert producer.flush(20) == 0
    _, row, *reasons = ctl("fault", "show", "1").splitlines()
    assert row.split()[:2] == ["1", "0"]
    assert reasons[0] == "requests that did not match:"
    assert reasons[1].startswith("    Produce ")


def test_clock_is_advanced(ctl: Ctl, api: Asking) -> None:
    ctl("clock", "advance", "2h", "--sessions")
    assert api.get("/v1/clock")["ahead_ms"] > 7_000_000
    assert re.fullmatch(r"NOW +AHEAD\n20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z  \+2 h\n", ctl("clock"))
    assert set(json.loads(ctl("clock", "--json"))) == {"now_ms", "ahead_ms"}


def test_cleaner_compacts_rolled_segments(ctl: Ctl, api: Asking) -> None:
    ctl("topic", "create", "t", "--config", "cleanup.policy=compact")
    for value in "abc":
        api.post("/v1/topics/t/records", {"key": "k", "value": value})
    assert len(ctl("cleaner", "run").splitlines()) == 1
    last = ctl("cleaner", "run", "--roll").splitlines()[-1].split()
    assert (last[:5], last[-2:]) == (["t", "0", "1", "0", "3"], ["3", "1"])
    assert values(api) == ["c"]


def test_retention_deletes_expired_segments(ctl: Ctl, api: Asking) -> None:
    ctl("topic", "create", "t", "--config", "retention.bytes=0")
    api.post("/v1/topics/t/records", {"value": "a"})
    assert ctl("retention", "run").splitlines()[-1].split() == ["t", "0", "1", "1", "1"]
    assert values(api) == []


def test_brokers_are_stopped_started_and_rolled(ctl: Ctl, api: Asking) -> None:
    assert ctl("broker", "stop", "2").splitlines()[1].split()[:2] == ["2", "no"]
    assert [broker["is_running"] for broker in api.get("/v1/brokers")["brokers"]] == [True, False]
    assert ctl("broker", "start", "2").splitlines()[1].split()[:2] == ["2", "yes"]
    assert ctl("roll") == ctl("brokers")
    assert api.get("/v1/cluster")["cluster_id"] in ctl("cluster")


def test_snapshot_is_restored_after_a_reset(ctl: Ctl, api: Asking, tmp_path: Path) -> None:
    ctl("send", "t", "x")
    assert ctl("snapshot", str(tmp_path / "a.tar")) == ""
    assert ctl("reset") == ""
    assert api.get("/v1/topics")["topics"] == []
    assert ctl("restore", str(tmp_path / "a.tar")) == ""
    assert values(api) == ["x"]


def test_acls_and_users_are_changed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], api: Asking
) -> None:
    with asking(users={"alice": "secret"}, super_users=["alice"]) as secured:
        monkeypatch.setenv("KAFKALET_CONTROL", secured.control.url)

        def run(*arguments: str) -> str:
            assert main(arguments) == 0
            return capsys.readouterr().out

        assert run("acl", "add", "bob:read,write:topic:t") == "bob:read:topic:t\nbob:write:topic:t\n"
        assert run("acl", "remove", "bob:read:topic:t") == run("acls") == "bob:write:topic:t\n"
        monkeypatch.setattr(sys, "stdin", io.StringIO("second\n"))
        assert run("user", "add", "bob") == "alice\nbob\n"
        assert 'password="second"' in run("client-config", "bob", "--client", "java").replace("\\", "")
        assert run("user", "remove", "bob") == run("users") == "alice\n"


def test_user_without_a_password_is_refused(
    api: Asking, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert main(["user", "add", "bob"]) == 2
    assert "the password is missing" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["snapshot", "restore"])
def test_file_that_cannot_be_opened_is_a_failure(api: Asking, capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert main([command, "/missing/a.tar"]) == 1
    assert capsys.readouterr().err == "kafkalet: /missing/a.tar: No such file or directory\n"


def example(schema: Any) -> str:
    """Return a text that is a value of the schema."""
    schema = resolved(schema)
    if "anyOf" in schema:
        return example(schema["anyOf"][0])
    if "enum" in schema:
        return str(schema["enum"][0])
    match schema.get("type"):
        case "integer" | "number":
            return str(schema.get("minimum", 7))
        case "boolean":
            return "true"
        case "array":
            return example(schema["items"])
        case "object" if "additionalProperties" in schema or "value_encoding" in schema["properties"]:
            return "a=b"
        case "object":
            return json.dumps({name: json.loads(quoted(each)) for name, each in schema["properties"].items()})
    return "text"


def quoted(schema: Any) -> str:
    return example(schema) if schema.get("type") in ("integer", "number", "boolean") else json.dumps(example(schema))


def values_of(each: Input) -> list[str]:
    return [example(each.items or each.schema)] * (2 if each.is_repeatable else 1)


def as_parameter(value: Any) -> str:
    """Return a value as the client writes it into a query."""
    return ",".join(value) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else str(value)


class Recorder:
    """A client that keeps the request."""

    def ask(self, method: str, template: str, *names: object, **rest: Any) -> Any:
        self.request = (method, template.format(*names), rest)
        return {"records": []}


def test_command_that_undoes_another_has_the_name_of_its_operation() -> None:
    [command] = [each for each in commands().values() if each.template.endswith("hold-high-watermark/release")]
    assert command.usage == "partition release-high-watermark TOPIC PARTITION"


SPECIAL = {"clock advance": ["5s"], "snapshot": ["FILE"], "restore": ["FILE"]}


@pytest.mark.parametrize("command", [each for each in commands().values() if each.name not in ("events", "snapshot")])
def test_request_of_a_command_with_all_options_has_the_shape_of_its_route(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "FILE").write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO("secret"))
    words = [text for each in command.arguments for text in values_of(each)] + SPECIAL.get(command.name, [])
    options = {each.option: values_of(each) for each in command.inputs if each not in command.arguments}
    client = Recorder()
    command.run(cast("ControlClient", client), command.given(words, options))
    method, path, rest = client.request
    found = find([route for area in areas() for route in area], method, path)
    assert found.route is not None
    check_fields(found.route.path, found.path, "parameter")
    texts = {name: as_parameter(value) for name, value in rest["query"].items()}
    check_fields(found.route.query, texts, "parameter")
    assert set(texts) == set(found.route.query)
    if found.route.body is not None:
        found.route.body.check(rest["body"], "the body")
