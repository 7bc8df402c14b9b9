"""Imports only go down: see the picture in the package's rooms.

clock, properties, version    import nothing of ours
protocol                      nothing but itself
formats                       protocol.records: the bytes of the files beside a log, with no policy
storage                       formats, protocol.records, protocol.errors, and the ground
broker                        protocol, storage, and the ground
embedded                      the broker, and the ground
pipeline                      formats, protocol and the ground; neither storage nor the broker, whose logs it audits
testing, cli                  everything below
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
    "properties": 0,
    "protocol": 1,
    "formats": 2,
    "storage": 3,
    "broker": 4,
    "pipeline": 4,
    "embedded": 5,
    "testing": 6,
    "cli": 7,
}
FACADES = {"kafkalet", "kafkalet.__main__"}
NEWER = {"annotationlib", "compression"}  # in the standard library of later Pythons
EXTRAS = {"cramjam", "crc32c", "pytest"}
OF_THE_PIPELINE = {"numpy", "pyarrow", "pyspark", "py4j"}
"""What the extra `spark` brings: the pipeline is made of it and need not guard it; nothing else may know of it."""
STORAGE_MAY_IMPORT = (
    "kafkalet.protocol.records",
    "kafkalet.protocol.errors",
    "kafkalet.formats",
    "kafkalet.clock",
    "kafkalet.properties",
)

INSIDE = [path for path in MODULES if name_of(path) not in FACADES]
by_name = for_every(INSIDE, name_of)


def ours(path: Path) -> set[str]:
    return {module for module in imports(path) if module.split(".")[0] == "kafkalet"}


def test_every_room_has_its_rank() -> None:
    assert {room_of(name_of(path)) for path in INSIDE} <= RANK.keys()


@by_name
def test_imports_only_go_down(path: Path) -> None:
    room = room_of(name_of(path))
    for module in ours(path):
        other = room_of(module)
        assert other == room or RANK[other] < RANK[room], f"{name_of(path)} imports {module}"


@by_name
def test_storage_knows_of_the_protocol_only_records_and_errors(path: Path) -> None:
    if room_of(name_of(path)) == "storage":
        foreign = {module for module in ours(path) if room_of(module) != "storage"}
        assert not {module for module in foreign if not module.startswith(STORAGE_MAY_IMPORT)}


@by_name
def test_the_pipeline_reads_logs_by_itself(path: Path) -> None:
    """Decision 7: what an audit derives from the bytes must not repeat the mistakes of storage."""
    if room_of(name_of(path)) == "pipeline":
        assert "storage" not in {room_of(module) for module in ours(path)}


@by_name
def test_protocol_and_storage_know_no_network(path: Path) -> None:
    if room_of(name_of(path)) in ("protocol", "storage"):
        assert not {"asyncio", "socket", "selectors", "ssl"} & set(imports(path))


@by_name
def test_nothing_but_the_standard_library_is_needed(path: Path) -> None:
    tops = {module.split(".")[0] for module in imports(path)}
    extras = EXTRAS | OF_THE_PIPELINE if room_of(name_of(path)) == "pipeline" else EXTRAS
    assert tops <= {*sys.stdlib_module_names, *NEWER, "kafkalet", *extras}
    needed = {module.split(".")[0] for module in imports(path, lazy=False)} & EXTRAS - {"pytest"}
    assert needed <= {module for module in needed if _guarded(path, module)}, "an extra is imported without a guard"


def _guarded(path: Path, module: str) -> bool:
    """Whether every import of `module` at the top level stands in a `try`."""
    top = [node for node in tree_of(path).body if isinstance(node, ast.Import | ast.ImportFrom)]
    return all(module not in ast.unparse(node) for node in top)


def test_no_module_imports_itself_in_the_end() -> None:
    """No cycles, with lazy imports and those for type checking: a cycle is one idea in two files, or two in one."""
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
def test_imports_are_relative_inside_a_room_and_absolute_across(path: Path) -> None:
    room = name_of(path).split(".")[:-1] if path.name != "__init__.py" else name_of(path).split(".")
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom):
            assert node.level <= 1, f"line {node.lineno} imports from a parent"
            if node.level == 0 and node.module:
                neighbour = node.module.split(".")[:-1] == room and len(room) > 1
                assert not neighbour, f"line {node.lineno}: {node.module} is next door"


TIME_AND_CHANCE = {
    "kafkalet.clock": {"time"},
    "kafkalet.broker.fetch_sessions": {"random"},
}
"""Who may know the time, and who may throw dice; all others are handed a clock, and numbers."""


@by_name
def test_time_and_chance_are_parameters(path: Path) -> None:
    allowed = TIME_AND_CHANCE.get(name_of(path), set())
    assert not {"time", "random", "secrets"} & set(imports(path)) - allowed


ENVIRONMENT = {"kafkalet.cli", "kafkalet.broker.cluster.metadata_store", "kafkalet.pipeline.session"}
"""Who may read the environment: the command line, where a temporary directory is looked for, and where Java is."""


@by_name
def test_the_environment_is_read_in_few_places(path: Path) -> None:
    if name_of(path) not in ENVIRONMENT:
        names = {node.attr for node in ast.walk(tree_of(path)) if isinstance(node, ast.Attribute)}
        assert not {"environ", "getenv"} & names
