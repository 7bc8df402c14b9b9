"""DescribeUserScramCredentials v0: list the mechanisms and iterations of the SCRAM credentials of users (KIP-554).

A request without users is for all of them. In KRaft mode, if the client is not authorized, Kafka never responds to such
a request, because of a NullPointerException; kafkalet returns the error.

Source: org.apache.kafka.image.ScramImage.describe; for releases with ZooKeeper,
kafka.server.ZkAdminManager.describeUserScramCredentials.
"""

from collections import Counter
from urllib.parse import quote

from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation
from kafkalet.broker.security.scram_credentials import ScramMechanism
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

Result = DescribeUserScramCredentialsResponse.Result


def handle(request: DescribeUserScramCredentialsRequest, context: Context) -> DescribeUserScramCredentialsResponse:
    if not context.allows_on_cluster(Operation.DESCRIBE):
        refused = KafkaError(Code.CLUSTER_AUTHORIZATION_FAILED)
        if request.users is not None:
            raise refused
        return DescribeUserScramCredentialsResponse(error_code=refused.code, error_message=refused.message, results=[])
    if asked := Counter(user.name for user in request.users or []):
        results = [_described(name, count, context) for name, count in asked.items()]
    else:
        results = _all_users(context)
    return DescribeUserScramCredentialsResponse(results=results)


def _all_users(context: Context) -> list[Result]:
    names = dict.fromkeys(name for name, _ in context.metadata.scram_credentials)
    if not context.release.escapes_described_users:
        return [Result(user=name, credential_infos=_credentials_of(name, context)) for name in names]
    found = {_escaped(name): _credentials_of(name, context) for name in names}
    return [Result(user=name, credential_infos=found[name]) for name in sorted(found)]


def _escaped(name: str) -> str:
    """Return a name as it is stored in ZooKeeper (org.apache.kafka.common.utils.Sanitizer.sanitize)."""
    return quote(name, safe="").replace("~", "%7E")


def _described(name: str, count: int, context: Context) -> Result:
    if count == 1 and (found := _credentials_of(name, context)):
        return Result(user=name, credential_infos=found)
    code, message = Code.RESOURCE_NOT_FOUND, f"Attempt to describe a user credential that does not exist: {name}"
    if not name and not context.release.runs_without_zookeeper:
        message = "Username must not be empty"
    elif count > 1:
        code = Code.DUPLICATE_RESOURCE
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
    return Result(user=name, error_code=code, error_message=message, credential_infos=[])


def _credentials_of(name: str, context: Context) -> list[Result.Credential]:
    known = context.metadata.scram_credentials
    return [
        Result.Credential(mechanism=int(mechanism), iterations=known[name, mechanism].iterations)
        for mechanism in ScramMechanism
        if (name, mechanism) in known
    ]
