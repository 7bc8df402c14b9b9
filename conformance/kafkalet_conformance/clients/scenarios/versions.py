"""Brokers of other releases, unsupported versions (KIP-511), and unknown tagged fields (KIP-482)."""

from kafkalet.protocol.api import BY_TITLE
from kafkalet_conformance.clients.judges import consumed, produced, tolerating
from kafkalet_conformance.clients.results import Verdict
from kafkalet_conformance.clients.scenario import Catalog, Judge, Play, Role
from kafkalet_conformance.clients.stage import Missed, Stage

CATALOG = Catalog(role=Role.CONSUME)
scenario = CATALOG.scenario

TOO_OLD = "clients of Kafka 4 need brokers of 2.1 or newer (KIP-896)"
RELEASES = {"0.10.2": TOO_OLD, "1.1": TOO_OLD, "2.1": None, "2.8": None, "3.9": None, "4.4": None}
"""The releases of brokers, and why a client may refuse to talk to them."""


def _produce(stage: Stage) -> None:
    stage.create_topic()


def _consume(stage: Stage) -> None:
    stage.create_topic()
    stage.send(20)


def _tolerant(judge: Judge, refusal: str | None) -> Judge:
    """Allow a client to end without a result, or to run forever: the Java client waits for a broker that it
    supports.
    """
    return judge if refusal is None else tolerating(judge, refusal, Verdict.HUNG, Verdict.GAVE_UP)


for _release, _refusal in RELEASES.items():
    scenario(
        f"A producer writes each record once to a broker of Kafka {_release}"
        f"{', or reports that it is too old' if _refusal else ''}.",
        "KIP-35; NodeApiVersions.latestUsableVersion",
        name=f"produce-to-{_release}",
        role=Role.PRODUCE,
        judge=_tolerant(produced(failures=_refusal), _refusal),
        kafka_version=_release,
    )(_produce)
    scenario(
        f"A member of a group reads each record once from a broker of Kafka {_release}"
        f"{', or reports that it is too old' if _refusal else ''}.",
        "KIP-35; NodeApiVersions.latestUsableVersion",
        name=f"consume-from-{_release}",
        judge=_tolerant(consumed(error=_refusal), _refusal),
        kafka_version=_release,
        group="conformance-group",
    )(_consume)


@scenario(
    "A client whose version of ApiVersions is not supported repeats the request in a version that is.",
    "KIP-511; NetworkClient.handleApiVersionsResponse",
    judge=consumed(),
    kafka_version="2.3",
)
def api_versions_unsupported(stage: Stage) -> None:
    _consume(stage)
    stage.start()
    stage.wait_for_end()
    if not stage.cluster.requests.filter("ApiVersions", errors="UNSUPPORTED_VERSION"):
        raise Missed("the client sent ApiVersions only in versions that Kafka 2.3 supports")


TAG = b"\x01\xbf\x84\x3d\x04tags"
"""A tag section with one field: tag 999999, of four bytes."""


def _tagged(api: str) -> Play:
    has_header = api != "ApiVersions"

    def change(frame: bytearray) -> bytearray:
        """Put an unknown tagged field into the header of a response, and at its end."""
        head, body = frame[4:8], frame[8:]
        if has_header and body[0] == 0:
            body = bytearray(TAG) + body[1:]
        if body[-1] == 0:
            body = body[:-1] + bytearray(TAG)
        data = head + body
        return bytearray(len(data).to_bytes(4, "big")) + data

    def play(stage: Stage) -> None:
        stage.create_topic()
        if stage.scenario.role is Role.CONSUME:
            stage.send(20)
        flexible = BY_TITLE[api].flexible
        stage.rewrite_frames(api, change, version=range(flexible.low, 100))

    return play


for _api, _role in (
    ("Metadata", Role.CONSUME),
    ("FindCoordinator", Role.CONSUME),
    ("JoinGroup", Role.CONSUME),
    ("Heartbeat", Role.CONSUME),
    ("OffsetFetch", Role.CONSUME),
    ("OffsetCommit", Role.CONSUME),
    ("Fetch", Role.CONSUME),
    ("Produce", Role.PRODUCE),
    ("InitProducerId", Role.PRODUCE),
):
    scenario(
        f"A client ignores tagged fields of {_api} responses that it does not know.",
        "KIP-482: unknown tagged fields are ignored",
        name=f"tagged-fields-{_api.lower()}",
        role=_role,
        judge=produced() if _role is Role.PRODUCE else consumed(),
        group="conformance-group" if _role is Role.CONSUME else None,
        idempotence=_role is Role.PRODUCE,
    )(_tagged(_api))
