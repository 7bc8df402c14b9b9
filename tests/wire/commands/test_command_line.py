"""Tests of the parsing of options, and of lines on stdout and stderr."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafkalet.commands.command_line import UsageError, parse, parse_address
from kafkalet.commands.serve import SERVE_OPTIONS

from .processes import SHELL_COMMAND, in_shell


def test_option_value_follows_space_or_equals_sign() -> None:
    assert parse(["--brokers", "3", "--listen=h:1"], SERVE_OPTIONS) == {"brokers": ["3"], "listen": ["h:1"]}


def test_value_may_contain_equals_signs() -> None:
    assert parse(["--set=a=b=c", "--set", "d=e"], SERVE_OPTIONS) == {"set": ["a=b=c", "d=e"]}


def test_flag_takes_no_value() -> None:
    assert parse(["--exit-with-parent", "--brokers", "3"], SERVE_OPTIONS) == {
        "exit-with-parent": [""],
        "brokers": ["3"],
    }
    with pytest.raises(UsageError, match="--exit-with-parent=1: --exit-with-parent takes no value"):
        parse(["--exit-with-parent=1"], SERVE_OPTIONS)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9092", ("127.0.0.1", 9092)),
        (":9092", ("", 9092)),
        ("[::1]:9092", ("::1", 9092)),
        ("localhost:0", ("localhost", 0)),
    ],
)
def test_address_is_parsed(text: str, address: tuple[str, int]) -> None:
    assert parse_address("--listen", text) == address


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("command", [SHELL_COMMAND, f"{sys.executable} -m kafkalet --help"], ids=["serve", "help"])
def test_unwritable_output_prints_one_line_and_returns_1(command: str) -> None:
    done = in_shell(f"{command} > /dev/full")
    assert (done.returncode, done.stderr) == (
        1,
        "kafkalet: cannot write to standard output: No space left on device\n",
    )


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="there is no /proc")
def test_closed_standard_descriptors_are_not_reused(tmp_path: Path) -> None:
    script = f"""
import os, sys
from kafkalet.commands.command_line import keep_standard_descriptors
for descriptor in range(3):
    os.close(descriptor)
keep_standard_descriptors()
found = [os.readlink(f"/proc/self/fd/{{descriptor}}") for descriptor in range(3)]
open({str(tmp_path / "found")!r}, "w").write(" ".join(found))
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=30)
    assert (tmp_path / "found").read_text() == " ".join([os.devnull] * 3)


def test_message_for_closed_stderr_is_not_printed_on_stdout() -> None:
    done = in_shell(f"{SHELL_COMMAND} --nope 2>&-")
    assert (done.returncode, done.stdout) == (2, "")


def test_option_and_alias_together_are_refused_as_given_twice() -> None:
    with pytest.raises(UsageError, match="--key is given twice"):
        parse(["--key", "id", "--key-column", "id"], SERVE_OPTIONS)
