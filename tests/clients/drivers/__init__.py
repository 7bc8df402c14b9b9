"""A common interface (interface.py) to kafka-python, confluent-kafka and aiokafka, so that tests run with all three.

Errors returned by the broker are raised as `BrokerError` with Kafka's error code.
"""

from .aio import AioKafka
from .confluent import ConfluentKafka
from .interface import (
    TIMEOUT_S,
    BrokerError,
    Driver,
    Found,
    Group,
    Member,
    Message,
    Replicas,
    Row,
    Transactions,
    messages,
)
from .kafka_python import KafkaPython, kafka

__all__ = [
    "DRIVERS",
    "TIMEOUT_S",
    "AioKafka",
    "BrokerError",
    "ConfluentKafka",
    "Driver",
    "Found",
    "Group",
    "KafkaPython",
    "Member",
    "Message",
    "Replicas",
    "Row",
    "Transactions",
    "kafka",
    "messages",
]

DRIVERS: dict[str, type[Driver]] = {
    "kafka-python": KafkaPython,
    "confluent-kafka": ConfluentKafka,
    "aiokafka": AioKafka,
}
