"""AlterUserScramCredentials v0: store and remove the SCRAM credentials of users (KIP-554).

The client salts and hashes the password. Each user is changed independently of the others. A user is refused if it is
named twice; releases with ZooKeeper refuse it only if it is named twice with the same mechanism.

Source: org.apache.kafka.controller.ScramControlManager; for releases with ZooKeeper,
kafka.server.ZkAdminManager.alterUserScramCredentials.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from kafkalet.broker.cluster.kraft.image_records import METADATA_VERSION, SCRAM_SINCE
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation
from kafkalet.broker.security.scram_credentials import (
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    ScramCredential,
    ScramMechanism,
    credential_of_salted,
)
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)

Deletion = AlterUserScramCredentialsRequest.Deletion
Upsertion = AlterUserScramCredentialsRequest.Upsertion
Entry = Deletion | Upsertion
Result = AlterUserScramCredentialsResponse.Result
Credentials = Mapping[tuple[str, ScramMechanism], ScramCredential]
Changes = dict[tuple[str, ScramMechanism], ScramCredential | None]

TWICE = KafkaError(Code.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request")
UNSUPPORTED = KafkaError(Code.UNSUPPORTED_VERSION, "The current metadata.version does not support SCRAM")
UNKNOWN = KafkaError(Code.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
NO_NAME = KafkaError(Code.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
UNKNOWN_MECHANISM = KafkaError(Code.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
TOO_FEW = KafkaError(Code.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
TOO_MANY = KafkaError(Code.UNACCEPTABLE_CREDENTIAL, "Too many iterations")


def handle(request: AlterUserScramCredentialsRequest, context: Context) -> AlterUserScramCredentialsResponse:
    if not context.allows_on_cluster(Operation.ALTER):
        message = "Request is not authorized." if context.release.runs_without_zookeeper else None
        raise KafkaError(Code.CLUSTER_AUTHORIZATION_FAILED, message)
    if context.release.alters_mechanisms_independently:
        errors, changes = _decide_by_mechanism(request, context.metadata.scram_credentials)
    else:
        is_supported = context.node.feature_level(METADATA_VERSION) >= SCRAM_SINCE
        errors, changes = _decide_by_user(request, context.metadata.scram_credentials, is_supported)
    if changes:
        context.controller.change_scram_credentials(changes)
    message = None if context.release.runs_without_zookeeper else ""
    results = [Result(user=name, error_message=message) for name in dict.fromkeys(name for name, _ in changes)]
    results += [Result(user=name, error_code=error.code, error_message=error.message) for name, error in errors.items()]
    return AlterUserScramCredentialsResponse(results=results)


def _decide_by_user(
    request: AlterUserScramCredentialsRequest, known: Credentials, is_supported: bool
) -> tuple[dict[str, KafkaError], Changes]:
    """Return the errors of refused users, and what to change for the others."""
    errors: dict[str, KafkaError] = {}
    wanted: dict[str, Entry] = {}
    for entry in _entries(request):
        if entry.name in errors:
            continue
        if wanted.pop(entry.name, None) is not None:
            errors[entry.name] = TWICE
        elif not is_supported:
            errors[entry.name] = UNSUPPORTED
        elif error := _error_of(entry):
            errors[entry.name] = error
        elif isinstance(entry, Deletion) and _key(entry) not in known:
            errors[entry.name] = UNKNOWN
        else:
            wanted[entry.name] = entry
    for entry in wanted.values():
        if _has_no_password(entry):
            errors[entry.name] = KafkaError(Code.UNKNOWN_SERVER_ERROR)
    return errors, _changes(entry for name, entry in wanted.items() if name not in errors)


def _decide_by_mechanism(
    request: AlterUserScramCredentialsRequest, known: Credentials
) -> tuple[dict[str, KafkaError], Changes]:
    """Return the errors of refused users, and what to change for the others, in releases with ZooKeeper."""
    entries = _entries(request)
    errors = {entry.name: error for entry in entries if (error := _error_of(entry))}
    counts = Counter((entry.name, entry.mechanism) for entry in entries if entry.name not in errors)
    errors |= {name: TWICE for (name, _), count in counts.items() if count > 1}
    left = [entry for entry in entries if entry.name not in errors]
    errors |= {entry.name: UNKNOWN for entry in left if isinstance(entry, Deletion) and _key(entry) not in known}
    left = [entry for entry in left if entry.name not in errors]
    if any(map(_has_no_password, left)):  # one unusable password fails all users
        text = "The server experienced an unexpected error when processing the request."
        errors |= {entry.name: KafkaError(Code.UNKNOWN_SERVER_ERROR, text) for entry in left}
        left = []
    return errors, _changes(left)


def _entries(request: AlterUserScramCredentialsRequest) -> list[Entry]:
    return [*request.deletions, *request.upsertions]


def _error_of(entry: Entry) -> KafkaError | None:
    """Return the error of an entry that is invalid, whatever credentials the user has."""
    if not entry.name:
        return NO_NAME
    if ScramMechanism.of(entry.mechanism) is None:
        return UNKNOWN_MECHANISM
    if isinstance(entry, Upsertion) and entry.iterations < MIN_ITERATIONS:
        return TOO_FEW
    if isinstance(entry, Upsertion) and entry.iterations > MAX_ITERATIONS:
        return TOO_MANY
    return None


def _has_no_password(entry: Entry) -> bool:
    """Return whether Java's HMAC would refuse the key, because it is empty."""
    return isinstance(entry, Upsertion) and not entry.salted_password


def _key(entry: Entry) -> tuple[str, ScramMechanism]:
    return entry.name, ScramMechanism(entry.mechanism)


def _changes(entries: Iterable[Entry]) -> Changes:
    return {_key(entry): _credential(entry) if isinstance(entry, Upsertion) else None for entry in entries}


def _credential(entry: Upsertion) -> ScramCredential:
    mechanism, salted = ScramMechanism(entry.mechanism), bytes(entry.salted_password)
    return credential_of_salted(mechanism, salted, bytes(entry.salt), entry.iterations)
