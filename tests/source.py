"""The parsed source of the three packages and of the tools of contributors, for the rule tests."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "kafkalet"
TOOLS = ROOT / "tools"
CONFORMANCE = ROOT / "conformance" / "kafkalet_conformance"
SPARK = ROOT / "spark" / "kafkalet_spark"
PACKAGES = (SOURCE, CONFORMANCE, TOOLS, SPARK)
MODULES = sorted([path for package in PACKAGES for path in package.rglob("*.py")])


def name_of(path: Path) -> str:
    """Return the module name of a file, for example `kafkalet.storage.log`."""
    parts = path.relative_to(package_of(path).parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(path: Path) -> Path:
    """Return the directory of the package that a file belongs to."""
    return next(package for package in PACKAGES if package in path.parents)


FILES = {name_of(path): path for path in MODULES}


def room_of(module: str) -> str:
    """Return the top-level package or module that a module belongs to, for example `storage`."""
    return [*module.split("."), ""][1]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree_of(path)))


@cache
def imports(path: Path, lazy: bool = True) -> tuple[str, ...]:
    """Return the full names of the modules that a file imports; without `lazy`, only those outside functions."""
    found: list[str] = []
    for node in nodes_of(path) if lazy else _outside_functions(tree_of(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += _imported_from(node, path)
    return tuple(found)


def _imported_from(node: ast.ImportFrom, path: Path) -> Iterator[str]:
    base = node.module or ""
    if node.level:
        package = name_of(path).split(".")
        if path.name != "__init__.py":
            package = package[:-1]
        base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [base])])
    for alias in node.names:
        inner = f"{base}.{alias.name}"
        yield inner if inner in FILES else base


def _outside_functions(tree: ast.AST) -> Iterator[ast.AST]:
    left = [tree]
    while left:
        for child in ast.iter_child_nodes(left.pop()):
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                yield child
                left.append(child)
