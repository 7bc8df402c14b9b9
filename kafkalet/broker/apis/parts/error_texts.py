"""The texts of error codes, for responses that contain the text of an error that has no message of its own.

Source: org.apache.kafka.common.protocol.Errors.
"""

from kafkalet.protocol.errors import Code, KafkaError

TEXTS = {
    Code.UNKNOWN_SERVER_ERROR: "The server experienced an unexpected error when processing the request.",
    Code.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    Code.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    Code.NOT_COORDINATOR: "This is not the correct coordinator.",
    Code.INVALID_GROUP_ID: "The group id is invalid.",
    Code.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    Code.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    Code.UNSUPPORTED_VERSION: "The version of API is not supported.",
    Code.NON_EMPTY_GROUP: "The group is not empty.",
    Code.FENCED_STATE_EPOCH: "The coordinator rejected the request because the state epoch did not match.",
}
HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."
"""The message of a group that is not described because of its topics."""


def text_of(error: KafkaError) -> str | None:
    """Return the message of an error, or the text of its code."""
    return error.message or TEXTS.get(error.code)
