"""Runs a scenario with a client of the tests."""

import os
import sys
from pathlib import Path

from kafkalet_conformance.clients.results import ClientResult
from kafkalet_conformance.clients.runner import Options, Runner
from kafkalet_conformance.clients.scenarios import all_scenarios

HERE = Path(__file__).parent
ROOT = HERE.parents[3]
FAKE = [sys.executable, "-m", "tests.wire.conformance.clients.fake_client"]


def fake_runner(flaw: str) -> Runner:
    """Return a runner that judges the fake client."""
    return Runner(Options([*FAKE, flaw], os.environ, directory=str(ROOT)))


def judged(scenario: str, command: list[str], timeout_s: float = 30.0) -> ClientResult:
    """Run one scenario with a command."""
    options = Options(command, os.environ, timeout_s, directory=str(ROOT))
    return Runner(options).run_one(all_scenarios()[scenario])


def judged_fake(scenario: str, flaw: str, timeout_s: float = 30.0) -> ClientResult:
    """Run one scenario with the fake client."""
    return judged(scenario, [*FAKE, flaw], timeout_s)


def driver(client: str) -> list[str]:
    """Return the command of the driver for a client library."""
    return [sys.executable, "-m", f"kafkalet_conformance.clients.drivers.{client}"]
