"""`kafkalet_conformance.playing.control`: the user's command that stops and starts brokers."""

import sys
from pathlib import Path

import pytest

from kafkalet_conformance.playing.control import Control


def test_command_gets_the_address_the_action_and_the_broker(tmp_path: Path) -> None:
    code = "import sys; open(sys.argv[1], 'a').write(' '.join(sys.argv[2:]) + '\\n')"
    control = Control([sys.executable, "-c", code, str(tmp_path / "calls")], "localhost:9092")
    control.stop(2)
    control.kill(3)
    control.start(3)
    control.pause(1)
    control.resume(1)
    control.cut_off(2, "brokers", "controller")
    control.reconnect(2)
    control.kill(0)
    calls = (tmp_path / "calls").read_text().splitlines()
    expected = ["stop 2", "kill 3", "start 3", "pause 1", "resume 1", "cut-off 2 brokers controller", "reconnect 2"]
    expected.append("kill controller")
    assert calls == [f"localhost:9092 {call}" for call in expected]


def test_failing_command_is_an_error_with_its_status() -> None:
    with pytest.raises(OSError, match=r"--control: .* returned non-zero exit status 3"):
        Control([sys.executable, "-c", "raise SystemExit(3)"], "localhost:9092").stop(2)
