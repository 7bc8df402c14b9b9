"""Data directories that Apache Kafka has written, with its responses.

    python -m tests.oracle.storage.written [RELEASE ...]

records a directory for each release (2.8, 3.9 and 4.4 without arguments) in tests/recorded/directories/.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.oracle.apache_kafka import ApacheKafka
from tests.recorded.answers import Answers, Asker, ask_everything
from tests.recorded.directories import Recording, save

from .filling import CONFIG, T0, TIMEOUT_S, fill

MOST_TOPICS = {"2.8": 12, "3.9": 10, "4.4": 10}
"""The number of topics, including internal ones."""
RELEASES = ("2.8", "3.9", "4.4")


class Written(NamedTuple):
    """The directories of a stopped broker, and the responses expected from a broker that opens them."""

    release: str
    config: dict[str, str]
    first_ms: int
    killed: Path
    """After SIGKILL."""
    expected_when_killed: list[Answers]
    """Before the kill, and of Kafka itself after it has recovered the directory."""
    stopped: Path
    """After SIGTERM."""
    expected_when_stopped: list[Answers]
    """Before the stop, and of Kafka itself after the next start, when leader epochs are higher."""


def configuration(release: str) -> dict[str, str]:
    """Return the broker properties with which the directories are written and opened."""
    authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    if release == "2.8":
        authorizer = "kafka.security.authorizer.AclAuthorizer"
    return {**CONFIG, "authorizer.class.name": authorizer}


def written(release: str, directory: Path, *, thorough: bool = True) -> Written:
    """Let Apache Kafka write directories below `directory`."""
    from confluent_kafka import Producer

    config = configuration(release)
    more = {"zookeeper.session.timeout.ms": "6000"} if release == "2.8" else {}

    def ask() -> Answers:
        _wait_for_leaders(kafka.bootstrap_servers, release)
        return ask_everything(kafka.bootstrap_servers, release, T0, thorough=thorough)

    with ApacheKafka(release, config=config | more) as kafka:
        data = kafka.directory / "data"
        fill(kafka.bootstrap_servers, release, data)
        filled = ask()
        kafka.kill(1)
        shutil.copytree(data, directory / "killed")
        kafka.start(1)
        recovered = ask()
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
        for _ in range(3):  # in a new leader epoch
            producer.produce("epochs", b"value")
        producer.flush()
        added = ask()
        kafka.stop(1)
        shutil.copytree(data, directory / "stopped")
        kafka.start(1)
        restarted = ask()
    return Written(
        *(release, config, T0),
        *(directory / "killed", [filled, recovered]),
        *(directory / "stopped", [added, restarted]),
    )


def _wait_for_leaders(bootstrap_servers: str, release: str) -> None:
    """Wait until the broker knows all topics; with ZooKeeper, it serves requests before that."""
    asker = Asker(bootstrap_servers, release)
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        topics = asker("Metadata", {"topics": None}, 7)["topics"]
        leaders = [partition["leader_id"] for topic in topics for partition in topic["partitions"]]
        if len(topics) >= MOST_TOPICS[release] and -1 not in leaders:
            asker.close()
            return
        assert time.monotonic() < deadline, f"only {len(topics)} topics, with the leaders {leaders}"
        time.sleep(0.1)


def main(releases: list[str]) -> None:
    for release in releases or RELEASES:
        with tempfile.TemporaryDirectory() as place:
            found = written(release, Path(place), thorough=False)
            now_ms = int(time.time() * 1000)
            save(Recording(release, found.config, T0, now_ms, found.expected_when_stopped), found.stopped)


if __name__ == "__main__":
    main(sys.argv[1:])
