"""Bytes that other implementations made, kept in vectors/.

produced.json          batches and message sets of a test client, with what was put into them
rebuilt.json           what Apache Kafka 2.8 and 3.9 stored of message sets and batches sent to topics of another
                       format, codec or timestamp type
down_converted.json    what lay in a log of Apache Kafka 3.9, and its answers to Fetch v1 and v3
"""

import json
import os
from typing import Any


def recorded(name: str) -> list[dict[str, Any]]:
    with open(os.path.join(os.path.dirname(__file__), "vectors", name + ".json"), encoding="utf-8") as file:
        content: list[dict[str, Any]] = json.load(file)
    return content
