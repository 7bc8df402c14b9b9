"""Restarting a broker with a command."""

import sys

import pytest

import kafkalet
from kafkalet_conformance.between.restarting import restart
from kafkalet_conformance.playing.target import Target


def test_failing_command_is_an_error_with_its_status() -> None:
    with kafkalet.Broker() as broker:
        target = Target(broker.bootstrap_servers)
        with pytest.raises(OSError, match=r"--restart: .* returned non-zero exit status 3"):
            restart([sys.executable, "-c", "raise SystemExit(3)"], target)
