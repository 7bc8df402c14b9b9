"""kafka-python, confluent-kafka and aiokafka behind a common interface (face.py), so that a test runs with all three.

Errors returned by the broker are raised as `Refused` with Kafka's error code.
"""

from .aio import AioKafka
from .confluent import ConfluentKafka
from .face import PATIENCE_S, Driver, Found, Group, Member, Message, Refused, Replicas, Row, Transactions, messages
from .kafka_python import KafkaPython, kafka

__all__ = [
    "DRIVERS",
    "PATIENCE_S",
    "AioKafka",
    "ConfluentKafka",
    "Driver",
    "Found",
    "Group",
    "KafkaPython",
    "Member",
    "Message",
    "Refused",
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
