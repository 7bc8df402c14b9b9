"""The share consumer of the driver for confluent-kafka, with one flaw.

python -m tests.wire.conformance.clients.flawed_share_client FLAW
"""

import sys
from typing import Any

import confluent_kafka

from kafkalet_conformance.clients.drivers import confluent_kafka as driver
from kafkalet_conformance.clients.drivers.contract import run, tell_record

FLAW = sys.argv[1]
RELEASE = confluent_kafka.AcknowledgeType.RELEASE


class FlawedConsumer(confluent_kafka.ShareConsumer):  # type: ignore[misc]
    def acknowledge(self, message: Any, kind: Any) -> None:
        if FLAW == "releases-the-last" and message.offset() == 9:
            kind = RELEASE
        super().acknowledge(message, kind)


def tell_flawed(partition: int, offset: int, value: bytes | None) -> None:
    for _ in range({"hides": 0, "repeats": 2}.get(FLAW, 1) if offset == 3 else 1):
        tell_record(partition, offset, value)


if __name__ == "__main__":
    confluent_kafka.ShareConsumer = FlawedConsumer
    driver.tell_record = tell_flawed
    if FLAW == "never-releases":
        driver.acknowledgement = lambda *_: "ACCEPT"
    run("flawed", confluent_kafka.KafkaException, share=driver.share)
