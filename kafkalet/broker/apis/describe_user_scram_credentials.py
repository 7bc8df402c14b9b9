"""DescribeUserScramCredentials v0: list the SCRAM credentials of users (KIP-554).

kafkalet has no SCRAM credentials: a request for all users returns an empty list, and a request for a particular user
returns RESOURCE_NOT_FOUND. The API exists because `kafka-configs` calls it whenever it describes users.

Source: org.apache.kafka.image.ScramImage.describe; recorded responses of Kafka 2.8, 3.9 and 4.4.
"""

from collections import Counter

from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

Result = DescribeUserScramCredentialsResponse.Result


def handle(request: DescribeUserScramCredentialsRequest, context: Context) -> DescribeUserScramCredentialsResponse:
    asked = Counter(user.name for user in request.users or [])
    results = [_refusal(name, count, context) for name, count in asked.items()]
    message = "" if context.release.runs_without_zookeeper else None  # ScramImage leaves the field at its default
    return DescribeUserScramCredentialsResponse(error_message=message, results=results)


def refuse(
    request: DescribeUserScramCredentialsRequest, context: Context, error: KafkaError
) -> DescribeUserScramCredentialsResponse:
    refused = Result(user="", error_code=error.code, error_message=error.message, credential_infos=[])
    return DescribeUserScramCredentialsResponse(
        error_code=error.code, error_message=error.message, results=[refused for _ in request.users or []]
    )


def _refusal(name: str, count: int, context: Context) -> Result:
    code, message = Code.RESOURCE_NOT_FOUND, f"Attempt to describe a user credential that does not exist: {name}"
    if count > 1:
        code = Code.DUPLICATE_RESOURCE
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
    elif not name and not context.release.runs_without_zookeeper:
        message = "Username must not be empty"
    return Result(user=name, error_code=code, error_message=message, credential_infos=[])
