"""The layers of the package: a module may import only modules of lower layers.

clock, jaas, locking,         import no module of kafkalet
properties, sasl_client,
suggestions, version
protocol                      imports only itself
tasks                         protocol.records and the modules in the first line
formats                       protocol.records; formats of the files beside a log, without policy
storage                       formats, tasks, protocol.records, protocol.errors, and the modules in the first line
broker                        protocol, storage, and the modules in the first line
inspection                    broker, storage, protocol and the modules in the first line; it never writes
embedded                      broker, and the modules in the first line
pipeline                      formats, protocol and the modules in the first line; not storage or broker, whose logs it
audits
testing                       embedded, broker, protocol and the modules in the first line
aio                           testing, and what it uses
control                       testing, and what it uses
conformance                   testing, and what it uses; the parts that judge a broker import only protocol
commands, cli                 all of the above
"""

import ast
import sys
from pathlib import Path

from tests.source import FILES, MODULES, imports, name_of, room_of, tree_of

from .every import for_every

RANK = {
    "version": 0,
    "clock": 0,
    "garbage": 0,
    "jaas": 0,
    "locking": 0,
    "properties": 0,
    "sasl_client": 0,
    "suggestions": 0,
    "protocol": 1,
    "formats": 2,
    "tasks": 2,
    "storage": 3,
    "broker": 4,
    "pipeline": 4,
    "embedded": 5,
    "testing": 6,
    "aio": 7,
    "control": 7,
    "conformance": 7,
    "inspection": 5,
    "commands": 8,
    "cli": 9,
}
FACADES = {"kafkalet", "kafkalet.__main__"}
NEWER = {"annotationlib", "compression"}  # in the standard library of newer Python versions
EXTRAS = {"aiokafka", "confluent_kafka", "cramjam", "crc32c", "cryptography", "kafka", "pytest"}
OF_THE_PIPELINE = {"numpy", "pyarrow", "pyspark", "py4j"}
"""Packages of the extra `spark`. The pipeline may import them unguarded; other modules must not import them."""
STORAGE_MAY_IMPORT = (
    "kafkalet.protocol.records",
    "kafkalet.protocol.errors",
    "kafkalet.formats",
    "kafkalet.clock",
    "kafkalet.locking",
    "kafkalet.properties",
    "kafkalet.tasks",
)

INSIDE = [path for path in MODULES if name_of(path) not in FACADES]
by_name = for_every(INSIDE, name_of)


def ours(path: Path) -> set[str]:
    return {module for module in imports(path) if module.split(".")[0] == "kafkalet"}


def test_every_package_has_a_layer() -> None:
    assert {room_of(name_of(path)) for path in INSIDE} <= RANK.keys()


@by_name
def test_imports_lead_to_lower_layers_only(path: Path) -> None:
    room = room_of(name_of(path))
    for module in ours(path):
        other = room_of(module)
        assert other == room or RANK[other] < RANK[room], f"{name_of(path)} imports {module}"


@by_name
def test_storage_imports_only_records_and_errors_of_the_protocol(path: Path) -> None:
    if room_of(name_of(path)) == "storage":
        foreign = {module for module in ours(path) if room_of(module) != "storage"}
        assert not {module for module in foreign if not module.startswith(STORAGE_MAY_IMPORT)}


@by_name
def test_pipeline_does_not_import_storage(path: Path) -> None:
    """Decision 7: an audit must not share code with storage, or it would repeat its mistakes."""
    if room_of(name_of(path)) == "pipeline":
        assert "storage" not in {room_of(module) for module in ours(path)}


@by_name
def test_protocol_and_storage_do_not_import_networking(path: Path) -> None:
    if room_of(name_of(path)) in ("protocol", "storage", "tasks"):
        assert not {"asyncio", "socket", "selectors", "ssl"} & set(imports(path))


@by_name
def test_only_the_standard_library_is_required(path: Path) -> None:
    tops = {module.split(".")[0] for module in imports(path)}
    extras = EXTRAS | OF_THE_PIPELINE if room_of(name_of(path)) == "pipeline" else EXTRAS
    assert tops <= {*sys.stdlib_module_names, *NEWER, "kafkalet", *extras}
    needed = {module.split(".")[0] for module in imports(path, lazy=False)} & EXTRAS - {"pytest"}
    assert needed <= {module for module in needed if _guarded(path, module)}, "an extra is imported without a guard"


def _guarded(path: Path, module: str) -> bool:
    """Return whether all top-level imports of `module` are inside a `try` statement."""
    top = [node for node in tree_of(path).body if isinstance(node, ast.Import | ast.ImportFrom)]
    return all(module not in ast.unparse(node) for node in top)


def test_imports_have_no_cycles() -> None:
    """Import cycles are not allowed, including lazy imports and imports for type checking."""
    graph = {name: ours(path) & FILES.keys() for name, path in FILES.items() if name not in FACADES}
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
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom):
            assert node.level <= 1, f"line {node.lineno} imports relative to a parent package"
            if node.level == 0 and node.module:
                neighbour = node.module.split(".")[:-1] == room and len(room) > 1
                assert not neighbour, f"line {node.lineno}: {node.module} is in the same package: import it relatively"


TIME_AND_RANDOM = {
    "kafkalet.commands.inspect": {"time"},
    "kafkalet.clock": {"time"},
    "kafkalet.broker.fetch_sessions": {"random"},
    "kafkalet.pipeline.live.security": {"time"},  # of the tokens that it issues to itself
    "kafkalet.broker.network.faults.rule": {"random"},  # with a seed
    "kafkalet.broker.network.faults.shaping": {"random"},  # with a seed
}
"""The modules that may import `time` or `random`; all others take a clock and numbers as parameters.

The conformance kit may import both, because it measures other programs.
"""


@by_name
def test_time_and_random_numbers_are_parameters(path: Path) -> None:
    if room_of(name_of(path)) == "conformance":
        return
    allowed = TIME_AND_RANDOM.get(name_of(path), set())
    assert not {"time", "random", "secrets"} & set(imports(path)) - allowed


ENVIRONMENT = {
    "kafkalet.commands.exec",
    "kafkalet.commands.conform_output",
    "kafkalet.commands.conform_client",
    "kafkalet.commands.conform_security",
    "kafkalet.commands.container",
    "kafkalet.commands.control",
    "kafkalet.commands.security_options",
    "kafkalet.broker.cluster.metadata_store",
    "kafkalet.conformance.clients.drivers.contract",
    "kafkalet.pipeline.requirements",
    "kafkalet.pipeline.session",
}
"""The modules that may read environment variables: for a command, temporary directories and JAVA_HOME."""


@by_name
def test_environment_is_read_in_listed_modules_only(path: Path) -> None:
    if name_of(path) not in ENVIRONMENT:
        names = {node.attr for node in ast.walk(tree_of(path)) if isinstance(node, ast.Attribute)}
        assert not {"environ", "getenv"} & names
