"""`python -m tools.recording record`: its options, and brokers and directories that cannot be used."""

from collections.abc import Iterator

import pytest

import kafkalet
from kafkalet.commands.command_line import UsageError
from tools.recording import command
from tools.recording.command import main


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    with kafkalet.Broker(version="3.9") as found:
        yield found.bootstrap_servers


@pytest.mark.parametrize("release", ["abc", "../x", "9.9", "newest"])
def test_unknown_release_is_refused(release: str, broker: str) -> None:
    with pytest.raises(UsageError, match=f"record {release}: the releases are 0.8.2"):
        main(["record", release, "--bootstrap", broker, "--match", "lo_empty_topic", "--show"])


def test_invalid_address_is_refused() -> None:
    with pytest.raises(UsageError, match="--bootstrap nowhere: expected HOST:PORT"):
        main(["record", "3.9", "--bootstrap", "nowhere"])


def test_match_without_a_scenario_is_refused(broker: str) -> None:
    with pytest.raises(UsageError, match="--match nothing_like_this: no scenario"):
        main(["record", "3.9", "--bootstrap", broker, "--match", "nothing_like_this"])


def test_broker_that_does_not_respond_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "3.9", "--bootstrap", "127.0.0.1:1"]) == 2
    assert "the broker at 127.0.0.1:1 cannot be recorded: no connection" in capsys.readouterr().err


def test_recordings_that_cannot_be_written_exit_with_2(
    broker: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def save(*arguments: object) -> None:
        raise PermissionError(13, "Permission denied", "lo_empty_topic.json")

    monkeypatch.setattr(command, "save", save)
    assert main(["record", "3.9", "--bootstrap", broker, "--match", "lo_empty_topic"]) == 2
    error = capsys.readouterr().err
    assert error == "kafkalet: the recordings cannot be written: [Errno 13] Permission denied: 'lo_empty_topic.json'\n"
