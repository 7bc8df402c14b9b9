"""The catalog of the recorded scenarios: their claims, the sources of the claims, and the releases and APIs covered.

`recordings/index.json` has one line for each scenario. tools/recording/index.py writes it from the definitions of the
scenarios and from their transcripts.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, get_args

from kafkalet.suggestions import did_you_mean

from .transcripts import INDEX, RECORDINGS

Level = Literal["must", "should", "detail"]
"""How much depends on a scenario: `must`: clients lose, repeat or misread records, or stop, if a broker differs;
`should`: a client or a tool sees the difference; `detail`: only a comparison of single fields shows it."""
LEVELS: tuple[Level, ...] = get_args(Level)


@dataclass(frozen=True, slots=True)
class Area:
    """A feature of a broker that several scenarios test."""

    title: str
    description: str


AREAS = {
    "list_offsets": Area(
        "Offsets of logs", "ListOffsets for the earliest and latest offset, while records are added and deleted."
    ),
    "list_offsets_timestamps": Area(
        "Offsets by timestamp", "ListOffsets for a timestamp and for the maximum timestamp."
    ),
    "fetch": Area("Fetch", "Records, order and errors that Fetch returns."),
    "fetch_limits": Area("Fetch: limits and waiting", "Size limits of Fetch, and how long it waits."),
    "fetch_sessions": Area("Fetch sessions", "Incremental fetches (KIP-227)."),
    "produce": Area("Produce", "Batches that Produce accepts, and its errors for the others."),
    "idempotence": Area("Idempotent producers", "Producer ids, epochs and sequence numbers."),
    "transactions": Area("Transactions", "The transaction coordinator, and records in transactions."),
    "transaction_offsets": Area("Offsets in transactions", "AddOffsetsToTxn and TxnOffsetCommit."),
    "read_committed": Area(
        "Reading transactions", "The last stable offset, aborted transactions and markers in Fetch and ListOffsets."
    ),
    "consumer_groups_classic": Area(
        "Consumer groups: classic protocol", "Membership with JoinGroup, SyncGroup and Heartbeat."
    ),
    "consumer_groups_kip848": Area(
        "Consumer groups: new protocol", "Membership with ConsumerGroupHeartbeat (KIP-848), assignors and migration."
    ),
    "share_groups": Area("Share groups", "Membership, records and state of share groups (KIP-932)."),
    "streams_groups": Area("Streams groups", "Membership in groups of Kafka Streams (KIP-1071)."),
    "offsets": Area("Committed offsets", "OffsetCommit, OffsetFetch and OffsetDelete."),
    "topics": Area("Topics", "Creation, growth and deletion of topics, and deletion of records."),
    "configurations": Area("Configurations", "Properties of topics, brokers and groups."),
    "quotas": Area("Quotas", "Client quotas."),
    "features": Area("Features", "Levels of the features of a cluster."),
    "metadata": Area(
        "Metadata", "Supported APIs, the brokers and controllers of the cluster, its topics and coordinators."
    ),
    "tiered_storage": Area("Tiered storage", "Segments that are copied to remote storage, and read from there."),
    "controller": Area("Controller", "Requests of admin clients that connect to the controller (KIP-919)."),
    "replicas": Area("Replicas", "Elections, reassignments, log directories and leader epochs."),
    "several_brokers": Area(
        "Several brokers", "Leaders, followers and clients that send requests to the wrong broker."
    ),
    "faults": Area("Faults", "Brokers that stop, crash, pause, are cut off and come back, while others serve clients."),
    "state_topics": Area("State topics", "Records in __consumer_offsets and __transaction_state."),
    "telemetry": Area("Client telemetry", "Metrics of clients (KIP-714)."),
    "authorization": Area("Authorization", "Access control lists."),
    "credentials": Area("Credentials", "SCRAM credentials of users, and delegation tokens."),
    "old_formats": Area(
        "Old formats and versions", "Message formats 0 and 1, and versions of APIs that were made for them."
    ),
    "malformed_requests": Area(
        "Malformed requests", "Frames, headers and requests that a broker cannot decode or does not serve."
    ),
}
"""All areas, in the order of the reports."""
LAST = "malformed_requests"
"""The area whose scenarios are performed last, because they are the ones that may end a broker."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A recorded scenario. `apis` contains the lowest and highest version of each API with recorded responses."""

    name: str
    area: str
    claim: str
    level: Level
    sources: tuple[str, ...]
    releases: tuple[str, ...]
    needs: Mapping[str, Any]
    apis: Mapping[str, tuple[int, int]]
    cases: int
    """The number of recorded responses in the newest release."""
    scopes: Mapping[str, int] = field(default_factory=dict)
    """The scope of the requests in each release (judging.scope.Scope), if they concern topics and groups of other
    users.
    """

    @property
    def kips(self) -> tuple[str, ...]:
        return tuple(source for source in self.sources if source.startswith("KIP-"))


@cache
def scenarios() -> dict[str, Scenario]:
    """Return all recorded scenarios, keyed by name."""
    lines = json.loads((RECORDINGS / INDEX).read_text(encoding="utf-8"))
    return {line["name"]: _scenario(line) for line in lines}


def _scenario(line: dict[str, Any]) -> Scenario:
    tuples = {key: tuple(line[key]) for key in ("sources", "releases")}
    return Scenario(**line | tuples | {"apis": {api: (low, high) for api, (low, high) in line["apis"].items()}})


def select(
    *,
    release: str,
    only: Iterable[str] = (),
    apis: Iterable[str] = (),
    kips: Iterable[str] = (),
    levels: Iterable[str] = LEVELS,
) -> list[Scenario]:
    """Return the scenarios of a release that match all given conditions, sorted by area and name; `LAST` comes last.

    `only` contains names of areas and scenarios. A scenario must have at least one of `apis` and one of `kips`. Raises
    ValueError for names that do not occur in any release of the catalog.
    """
    every = scenarios().values()
    only = _known("area or scenario", only, {*AREAS, *scenarios()})
    apis = _known("API", apis, {api for each in every for api in each.apis})
    kips = _known("KIP", kips, {kip for each in every for kip in each.kips})
    levels = _known("level", levels, LEVELS)
    found = [
        each
        for each in every
        if release in each.releases
        and (not only or each.area in only or each.name in only)
        and (not apis or apis & each.apis.keys())
        and (not kips or kips & set(each.kips))
        and each.level in levels
    ]
    return sorted(found, key=lambda each: (each.area == LAST, each.area, each.name))


def _known(kind: str, given: Iterable[str], known: Iterable[str]) -> set[str]:
    """Return `given` as a set. Raises ValueError for unknown names."""
    given, known = set(given), sorted(known)
    for name in sorted(given.difference(known)):
        hint = did_you_mean(name, known, most=3) or "`kafkalet conform --list` prints all names"
        raise ValueError(f"there is no {kind} {name!r} in the catalog of scenarios; {hint}")
    return given
