"""Data produced by other implementations, stored in vectors/.

produced.json          batches and message sets of a test client, with the records they were built from
rebuilt.json           message sets and batches as stored by Apache Kafka 2.8 and 3.9 after they were sent to topics
                       with another format, codec or timestamp type
down_converted.json    data from a log of Apache Kafka 3.9, and the responses of the broker to Fetch v1 and v3
"""

import json
import os
from typing import Any


def recorded(name: str) -> list[dict[str, Any]]:
    with open(os.path.join(os.path.dirname(__file__), "vectors", name + ".json"), encoding="utf-8") as file:
        content: list[dict[str, Any]] = json.load(file)
    return content
