"""The layers of the packages: imports lead down, between folders and between files.

`FLOORS` lists the folders from the lowest floor up, each with the reason for its place. A file or folder may import
only modules on a lower floor of the folder that contains both.
"""

import ast
import sys
from pathlib import Path

from tests.source import (
    CONFORMANCE,
    FILES,
    MODULES,
    SOURCE,
    SPARK,
    imports,
    name_of,
    nodes_of,
    package_of,
    room_of,
    tree_of,
)

from .every import for_every

FLOORS: dict[str, tuple[str, ...]] = {
    "kafkalet": (
        "clock garbage jaas locking properties suggestions units version",  # know nothing of Kafka's messages
        "protocol",  # bytes and values: no files, no sockets
        "sasl_client",  # a client logs in
        "client_security",  # TLS and SASL of a client, from its properties
        "formats tasks",  # formats of the files beside a log, without policy; and how long work may take
        "storage",  # logs on disk: no requests, no leaders
        "broker",  # requests and leaders
        "embedded inspection",  # one cluster in a process; data directories without a broker, never written
        "testing",  # the test kit, which the brokers do not know
        "aio control",  # the test kit in coroutines; the test kit over HTTP
        "commands",  # all of the above on the command line
        "cli",  # finds the command
    ),
    "kafkalet.broker": (
        # values without a broker
        "arguments client fetch_sessions java_order purgatory quoting regex served views watchers",
        "config",  # properties and releases, which everything reads
        "security",  # who a client is and what it may do, by properties and ACLs
        "quotas",  # how much a client may do
        "cluster",  # the metadata, and the replicas of a broker; has the ACLs and the quotas
        "share",  # what share groups consume: records in flight, and their state in a partition of the cluster
        "groups",  # the coordinator of groups: state in a partition of the cluster
        "transactions",  # their coordinator; a commit of offsets ends in a group
        "coordinators repetitions telemetry",  # the parts of a broker that handlers use
        "broker",  # has all of these parts
        "context",  # a request to a broker
        "apis",  # handles requests; `parts` takes a context, like its handlers
        "network",  # brings requests to the handlers
        "broker_server loop_host",  # a broker with listeners; the thread or loop in which it runs
        "server",  # the brokers of a cluster, started and stopped together
        "seeding",  # fills a server with records
    ),
    "kafkalet.broker.apis": ("parts",),
    "kafkalet.broker.cluster": ("kraft",),
    "kafkalet.broker.groups": (
        "assignors",
        "modern",  # what consumer groups and share groups have in common
        "classic share",
        "streams",
        "consumer",  # may have classic members
    ),
    "kafkalet.broker.network": ("faults",),  # act on requests and connections, which do not know them
    "kafkalet.broker.security": ("tls", "sasl"),  # tokens are signed with keys that TLS reads
    "kafkalet_conformance": (
        "notation clients",  # plain data of messages; clients are judged with code of their own
        "playing",  # performs the steps of a transcript
        "reports",  # show results
        "judging",  # plays many scenarios and reports them
        "between",  # plays random histories at two brokers
        "commands",  # all of the above on the command line
    ),
    "kafkalet_conformance.between": ("histories",),
    "kafkalet_conformance.clients": ("drivers observing", "judges", "scenarios"),  # a scenario names its judges
    "kafkalet_conformance.clients.observing": ("rules",),
    "kafkalet.control": ("routes",),
    "kafkalet_spark": (
        "decoding",  # bytes to columns
        "logs live",  # where bytes come from: directories, brokers
        "audit writing",  # what is done with columns
        "dumping",  # reads through the source
        "commands",  # all of the above on the command line
    ),
    "kafkalet.protocol": ("records", "messages"),  # messages carry records
    "kafkalet.storage": ("cleaning",),  # rewrites the segments of a log, which does not know it
    "tools": (
        "recording",  # plays scenarios at Apache Kafka, and judges the transcripts; may import all of kafkalet
        "reference",  # parts of the documentation, from all of it
    ),
    "tools.recording": ("scenarios",),  # produce steps
}
"""The folders in each folder, from the ground up; in the first two, also the files."""
RANKS = {
    f"{folder}.{name}": rank
    for folder, floors in FLOORS.items()
    for rank, floor in enumerate(floors)
    for name in floor.split()
}
FACADES = {"kafkalet", "kafkalet.__main__", "kafkalet_conformance", "kafkalet_spark", "tools"}
NEWER = {"annotationlib", "compression"}  # in the standard library of newer Python versions
EXTRAS = {"aiokafka", "confluent_kafka", "cramjam", "crc32c", "cryptography", "kafka", "pytest"}
OF_SPARK = {"numpy", "pyarrow", "pyspark", "py4j"}
"""Packages that kafkalet_spark may import unguarded; kafkalet must not import them."""
SPARK_MAY_IMPORT = {
    *("client_security", "clock", "locking", "properties", "units", "version"),
    *("protocol", "formats"),
    "inspection",  # the layout of files
}
"""The rooms of kafkalet that kafkalet_spark is built on.

Decision 7: storage and the broker are not among them. An audit must not share code with them, or it would repeat their
mistakes.
"""
STORAGE_MAY_IMPORT = (
    "kafkalet.protocol.records",
    "kafkalet.protocol.errors",
    "kafkalet.formats",
    "kafkalet.clock",
    "kafkalet.locking",
    "kafkalet.properties",
    "kafkalet.tasks",
)

PACKAGES = ("kafkalet", "kafkalet_conformance", "kafkalet_spark", "tools")
INSIDE = [path for path in MODULES if name_of(path) not in FACADES]
by_name = for_every(INSIDE, name_of)


def ours(path: Path) -> set[str]:
    return {module for module in imports(path) if module.split(".")[0] in PACKAGES}


def test_every_folder_has_a_floor() -> None:
    folders = {name.rpartition(".")[0] for name in map(name_of, INSIDE)} - {*PACKAGES}
    files = {name for name in map(name_of, INSIDE) if name.rpartition(".")[0] in ("kafkalet", "kafkalet.broker")}
    assert RANKS.keys() == folders | files


def between(name: str, other: str) -> tuple[str, str]:
    """Return the parts of the two modules that are in the folder that they have in common."""
    ours, others = name.split("."), other.split(".")
    same = next(number for number, (one, two) in enumerate(zip(ours, others, strict=False)) if one != two)
    return ".".join(ours[: same + 1]), ".".join(others[: same + 1])


@by_name
def test_imports_lead_to_lower_floors_only(path: Path) -> None:
    name = name_of(path)
    for module in ours(path) - {name}:
        if not name.startswith(f"{module}.") and not module.startswith(f"{name}."):
            one, other = between(name, module)
            if one in RANKS and other in RANKS:
                assert RANKS[other] < RANKS[one], f"{name} imports {module}"


@by_name
def test_storage_imports_only_records_and_errors_of_the_protocol(path: Path) -> None:
    if room_of(name_of(path)) == "storage":
        foreign = {module for module in ours(path) if room_of(module) != "storage"}
        assert not {module for module in foreign if not module.startswith(STORAGE_MAY_IMPORT)}


@by_name
def test_kafkalet_spark_imports_only_listed_rooms_of_kafkalet(path: Path) -> None:
    if package_of(path) == SPARK:
        foreign = {module for module in ours(path) if module.split(".")[0] == "kafkalet"}
        assert {room_of(module) for module in foreign} <= SPARK_MAY_IMPORT


def test_kafkalet_spark_needs_every_listed_room() -> None:
    assert {room for path in SPARK.rglob("*.py") for room in map(room_of, ours(path))} >= SPARK_MAY_IMPORT


@by_name
def test_kafkalet_imports_no_other_package(path: Path) -> None:
    if package_of(path) == SOURCE:
        assert {module.split(".")[0] for module in ours(path)} <= {"kafkalet"}


@by_name
def test_kafkalet_conformance_imports_neither_kafkalet_spark_nor_tools(path: Path) -> None:
    if package_of(path) == CONFORMANCE:
        assert {module.split(".")[0] for module in ours(path)} <= {"kafkalet", "kafkalet_conformance"}


@by_name
def test_protocol_and_storage_do_not_import_networking(path: Path) -> None:
    if room_of(name_of(path)) in ("protocol", "storage", "tasks"):
        assert not {"asyncio", "socket", "selectors", "ssl"} & set(imports(path))


@by_name
def test_only_the_standard_library_is_required(path: Path) -> None:
    tops = {module.split(".")[0] for module in imports(path)}
    extras = EXTRAS | OF_SPARK if package_of(path) == SPARK else EXTRAS
    assert tops <= {*sys.stdlib_module_names, *NEWER, *PACKAGES, *extras}
    needed = {module.split(".")[0] for module in imports(path, lazy=False)} & EXTRAS - {"pytest"}
    assert needed <= {module for module in needed if _guarded(path, module)}, "an extra is imported without a guard"


def _guarded(path: Path, module: str) -> bool:
    """Return whether all top-level imports of `module` are inside a `try` statement."""
    top = [node for node in tree_of(path).body if isinstance(node, ast.Import | ast.ImportFrom)]
    return all(module not in ast.unparse(node) for node in top)


def test_imports_have_no_cycles() -> None:
    """Neither files nor folders import each other in a circle, including lazy imports and imports for type checking.

    A file beside a folder may be used by the folder, or use it, but not both.
    """
    graph: dict[str, set[str]] = {name: set() for name in map(name_of, INSIDE)}
    for path in INSIDE:
        name = name_of(path)
        for module in ours(path) & FILES.keys() - FACADES - {name}:
            graph[name].add(module)
            if not name.startswith(f"{module}.") and not module.startswith(f"{name}."):
                one, other = between(name, module)
                graph.setdefault(one, set()).add(other)
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " -> ".join([*way[way.index(name) :], name])
        if name not in done:
            for other in sorted(graph.get(name, ())):
                visit(other, (*way, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())


@by_name
def test_imports_are_relative_inside_a_package_and_absolute_across(path: Path) -> None:
    room = name_of(path).split(".")[:-1] if path.name != "__init__.py" else name_of(path).split(".")
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom):
            assert node.level <= 1, f"line {node.lineno} imports relative to a parent package"
            if node.level == 0 and node.module:
                neighbor = node.module.split(".")[:-1] == room and len(room) > 1
                assert not neighbor, f"line {node.lineno}: {node.module} is in the same package: import it relatively"


TIME_AND_RANDOM = {
    "kafkalet.commands.inspect": {"time"},
    "kafkalet.clock": {"time"},
    "kafkalet.broker.fetch_sessions": {"random"},
    "kafkalet.client_security": {"time"},  # of the tokens that it issues to itself
    "kafkalet.broker.network.faults.rule": {"random"},  # with a seed
    "kafkalet.broker.network.faults.shaping": {"random"},  # with a seed
}
"""The modules that may import `time` or `random`; all others take a clock and numbers as parameters.

The conformance kit may import both, because it measures other programs.
"""


@by_name
def test_time_and_random_numbers_are_parameters(path: Path) -> None:
    if package_of(path) == CONFORMANCE or room_of(name_of(path)) == "recording":
        return
    allowed = TIME_AND_RANDOM.get(name_of(path), set())
    assert not {"time", "random", "secrets"} & set(imports(path)) - allowed


ENVIRONMENT = {
    "kafkalet.commands.exec",
    "kafkalet_conformance.commands.output",
    "kafkalet_conformance.commands.client",
    "kafkalet_conformance.commands.security",
    "kafkalet.commands.container",
    "kafkalet.commands.control",
    "kafkalet.commands.security_options",
    "kafkalet.broker.cluster.metadata_store",
    "kafkalet_conformance.clients.drivers.contract",
    "kafkalet_spark.requirements",
    "kafkalet_spark.session",
    "tools.reference.sources",
}
"""The modules that may read environment variables: for a command, temporary directories and JAVA_HOME."""


@by_name
def test_environment_is_read_in_listed_modules_only(path: Path) -> None:
    if name_of(path) not in ENVIRONMENT:
        names = {node.attr for node in nodes_of(path) if isinstance(node, ast.Attribute)}
        assert not {"environ", "getenv"} & names
