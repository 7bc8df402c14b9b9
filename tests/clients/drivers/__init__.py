"""kafka-python, confluent-kafka and aiokafka with one face (face.py): each claim is written once and held against all.

Refusals come out as the number of Kafka's error, in a `Refused`.
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
