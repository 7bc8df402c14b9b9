"""Tests of `kafkalet serve --control`: the ready line, the token, and how the API starts and stops with the broker."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from kafkalet.commands.command_line import UsageError, parse
from kafkalet.commands.control import Control
from kafkalet.commands.serve import SERVE_OPTIONS, Serve

from .processes import run, serving

READY = re.compile(r"kafkalet ready bootstrap=\S+:\d+ control=(http://127\.0\.0\.1:\d+)\n")


def url_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    found = READY.fullmatch(line)
    assert found is not None, line
    return found[1]


def ask(url: str, body: Any = None, headers: dict[str, str] | None = None) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_ready_line_has_the_url_of_the_control_api() -> None:
    with serving("--control", "127.0.0.1:0", "--topic", "t:2") as process:
        status, found = ask(f"{url_of(process)}/v1/topics")
        assert (status, [topic["name"] for topic in found["topics"]]) == (200, ["t"])
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_ready_file_has_the_url_of_the_control_api(tmp_path: Path) -> None:
    path = tmp_path / "ready"
    with serving("--control", "127.0.0.1:0", "--ready-file", str(path)) as process:
        url = url_of(process)
        lines = path.read_text().splitlines()
        assert lines[1:] == [f"control={url}", f"pid={process.pid}"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert not path.exists()


def test_wait_and_stream_end_with_the_broker() -> None:
    with serving("--control", "127.0.0.1:0") as process:
        url = url_of(process)
        stream = urllib.request.urlopen(f"{url}/v1/events?only=brokers", timeout=20)
        assert stream.readline() == b"event: brokers\n"
        waiting = http.client.HTTPConnection(url.removeprefix("http://"), timeout=20)
        waiting.request("POST", "/v1/topics/t/wait", '{"timeout": 100}', {"Content-Type": "application/json"})
        ask(f"{url}/v1/cluster")  # connected later, so the first connection has been accepted
        process.send_signal(signal.SIGTERM)
        assert waiting.getresponse().status == 503
        assert process.wait(10) == 0
        waiting.close()
        stream.read()
        stream.close()


@pytest.mark.parametrize(
    ("arguments", "environment"), [(["--control-token", "secret"], {}), ([], {"KAFKALET_CONTROL_TOKEN": "secret"})]
)
def test_token_is_an_option_or_a_variable(arguments: list[str], environment: dict[str, str]) -> None:
    with serving("--control", "0.0.0.0:0", *arguments, environment=environment) as process:
        url = url_of(process)
        assert ask(f"{url}/v1/cluster")[0] == 401
        assert ask(f"{url}/v1/cluster", headers={"Authorization": "Bearer secret"})[0] == 200


def test_api_without_a_token_is_refused_on_other_interfaces() -> None:
    done = run("serve", "--listen", "127.0.0.1:0", "--control", "0.0.0.0:0")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "kafkalet: --control 0.0.0.0:0: 0.0.0.0 can be reached from other machines; set a token"
    )


def test_port_in_use_is_a_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = run("serve", "--listen", "127.0.0.1:0", "--control", f"127.0.0.1:{port}")
    assert (done.returncode, done.stderr) == (
        1,
        f"kafkalet: --control 127.0.0.1:{port}: cannot listen: Address already in use\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--control", "9093"], "--control 9093: expected HOST:PORT with a port from 0 to 65535"),
        (["--control-token", "a"], "--control-token: only applies to the control API; --control is missing"),
    ],
)
def test_invalid_options_are_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        Serve.of(parse(arguments, SERVE_OPTIONS))
    assert str(error.value) == message


def test_option_wins_over_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKALET_CONTROL_TOKEN", "variable")
    assert Control.of({"control": ":1"}) == Control(("", 1), "variable")
    assert Control.of({"control": ":1", "control-token": "option"}) == Control(("", 1), "option")


def test_exec_passes_the_url_and_the_token_to_the_command() -> None:
    script = "import os; print(os.environ['KAFKALET_CONTROL'], os.environ['KAFKALET_CONTROL_TOKEN'])"
    done = run("exec", "--control", "127.0.0.1:0", "--control-token", "a", "--", sys.executable, "-c", script)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+ a\n", done.stdout), done.stderr


def test_serve_without_the_api_does_not_import_it() -> None:
    script = (
        "import sys, kafkalet.commands.serve\n"
        "rooms = ('kafkalet.control', 'kafkalet.commands.control', 'kafkalet.testing', 'http')\n"
        "print([name for name in sys.modules if name.startswith(rooms)])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
