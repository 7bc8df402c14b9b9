"""The configuration of share groups: properties of the group, of the broker, and defaults."""

import pytest

from kafkalet.broker.cluster.metadata import MetadataImage
from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.release import Release
from kafkalet.broker.share.configuration import ShareGroupConfigs
from kafkalet.clock import ManualClock
from kafkalet.storage.lookup import EARLIEST, LATEST
from kafkalet.storage.values import Isolation


class Node:
    def __init__(self, own: dict[str, str], of_broker: dict[str, str]) -> None:
        self.metadata = MetadataImage("cluster")
        self.metadata.group_config["jobs"] = own
        self.config = BrokerConfig(of_broker, Release.of("4.4"))
        self.clock = ManualClock(10_000_000)

    def feature_level(self, name: str) -> int:
        assert name == "share.version"
        return 2


def configs(own: dict[str, str] | None = None, of_broker: dict[str, str] | None = None) -> ShareGroupConfigs:
    return ShareGroupConfigs(Node(own or {}, of_broker or {}))


def test_a_group_has_the_defaults_of_kafka() -> None:
    assert configs().limits("other") == (30_000, 5, 2000, True, False)
    assert configs().isolation("other") is Isolation.HIGH_WATERMARK
    assert configs().first_timestamp("other") == LATEST


def test_a_group_has_the_properties_of_its_broker() -> None:
    of_broker = {
        "group.share.record.lock.duration.ms": "20000",
        "group.share.delivery.count.limit": "3",
        "group.share.partition.max.record.locks": "100",
    }
    assert configs(of_broker=of_broker).limits("jobs")[:3] == (20_000, 3, 100)


def test_the_properties_of_a_group_come_first() -> None:
    own = {
        "share.record.lock.duration.ms": "15000",
        "share.delivery.count.limit": "10",
        "share.partition.max.record.locks": " 500 ",
        "share.renew.acknowledge.enable": "false",
        "share.isolation.level": "read_committed",
    }
    found = configs(own, {"group.share.delivery.count.limit": "3"})
    assert found.limits("jobs") == (15_000, 10, 500, False, False)
    assert found.lock_ms("jobs") == 15_000
    assert found.isolation("jobs") is Isolation.LAST_STABLE


def test_a_group_may_have_a_dead_letter_queue() -> None:
    own = {
        "errors.deadletterqueue.topic.name": "dlq.jobs",
        "errors.deadletterqueue.copy.record.enable": "true",
    }
    found = configs(own, {"errors.deadletterqueue.auto.create.topics.enable": "true"})
    assert found.dead_letter_queue("jobs") == ("dlq.jobs", True, "dlq.", True)
    assert found.limits("jobs").dead_letters
    assert found.dead_letter_queue("other") is None


@pytest.mark.parametrize(
    ("reset", "timestamp"),
    [("earliest", EARLIEST), ("latest", LATEST), ("by_duration:PT1H", 6_400_000), ("by_duration:PT0.5S", 9_999_500)],
)
def test_a_group_begins_to_read_where_its_configuration_says(reset: str, timestamp: int) -> None:
    assert configs({"share.auto.offset.reset": reset}).first_timestamp("jobs") == timestamp
