"""Checks of request fields by the group coordinator.

Source: org.apache.kafka.coordinator.group.Utils.throwIfEmptyString.
"""

from kafkalet.protocol.errors import Code, KafkaError

_JAVA_BLANKS = "".join(map(chr, range(33)))  # the characters that Java's String.trim strips


def need(condition: bool, otherwise: str) -> None:
    """Raise INVALID_REQUEST unless the condition is true."""
    if not condition:
        raise KafkaError(Code.INVALID_REQUEST, otherwise)


def need_text(text: str | None, otherwise: str) -> None:
    """Raise INVALID_REQUEST if a text is empty or blank. It may be null."""
    need(text is None or text.strip(_JAVA_BLANKS) != "", otherwise)
