"""Write kafkalet/aio.pyi: the types of the asynchronous classes, from the source of the synchronous ones.

python -m tools.aio_stub
"""

import ast
import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent

from kafkalet import aio
from kafkalet.testing.mirror import COLLECTION, CONDITION, MIRRORS, Mirror

STUB = Path(aio.__file__).with_suffix(".pyi")
HEAD = '''"""The types of kafkalet.aio. `python -m tools.aio_stub` writes this file from the classes of the test kit."""
'''
AROUND = """
    @classmethod
    def around(cls, cluster: {of}) -> Self: ...
"""
CONTEXT = """
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *error: object) -> None: ...
"""


class Stub:
    """The text of the stub, with the names that it uses."""

    def __init__(self) -> None:
        self.imports: dict[str, str] = {"Mirror": "kafkalet.testing.mirror", "Self": "typing"}
        self.names = {of.__name__: mirror.__name__ for of, mirror in MIRRORS.items()}

    def text(self) -> str:
        classes = [self._class(mirror) for mirror in MIRRORS.values()]
        lines = [f"from {home} import {name}" if home else f"import {name}" for name, home in self.imports.items()]
        return "\n".join([HEAD, *sorted(lines), "", *classes])

    def _class(self, mirror: type[Mirror]) -> str:
        of = mirror._of
        alias = f"Sync{of.__name__}"
        self.imports[f"{of.__name__} as {alias}"] = of.__module__
        [base, *_] = mirror.__bases__
        lines = [f"class {mirror.__name__}({base.__name__}):", f'    """{mirror.__doc__}"""']
        lines.append(f"    sync: {alias}")
        inherited = {name for kind in of.__mro__ if kind in MIRRORS and kind is not of for name in dir(kind)}
        lines += self._attributes(of) if base is Mirror else []
        for name in sorted(dir(mirror)):
            if name in vars(Mirror) or (name in inherited and base is not Mirror and name != "__init__"):
                continue
            if (not name.startswith("_") and hasattr(of, name)) or name in COLLECTION:
                lines += self._member(of, name, name in mirror._direct)
        if hasattr(mirror, "around"):
            lines += self._member(of, "__init__", True)
            if base is Mirror:
                lines.append(AROUND.format(of=alias).strip("\n"))
        if base is Mirror and (hasattr(of, "__enter__") or hasattr(of, "__aenter__")):
            lines.append(CONTEXT.strip("\n"))
        return "\n".join(lines) + "\n"

    def _member(self, of: type, name: str, is_direct: bool) -> Iterator[str]:
        """Yield the declaration of a member, with its overloads or its setter."""
        home, found = _functions(of, name)
        overloads = [each for each in found if any("overload" in ast.unparse(each) for each in each.decorator_list)]
        for function in overloads or found:
            yield self._function(function, home, is_direct)

    def _attributes(self, of: type) -> Iterator[str]:
        """Yield the public attributes that the constructor sets to its arguments."""
        home, [function] = _functions(of, "__init__")
        types = {each.arg: each.annotation for each in function.args.args}
        for node in function.body:
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            if isinstance(target, ast.Attribute) and not target.attr.startswith("_"):
                kind = (
                    types.get(getattr(node.value, "id", "")) if isinstance(node, ast.Assign | ast.AnnAssign) else None
                )
                if kind is not None:
                    self._use(kind, home)
                    yield f"    {target.attr}: {ast.unparse(kind)}"

    def _function(self, function: ast.FunctionDef, home: "Module", is_direct: bool) -> str:
        is_property = any(
            ast.unparse(each).split(".")[-1] in ("property", "setter") for each in function.decorator_list
        )
        doc = ast.get_docstring(function, clean=False)
        function.body = []
        for node in ast.walk(_Unquoted().visit(function)):
            if isinstance(node, ast.arg | ast.FunctionDef):
                for each in ast.walk(getattr(node, "annotation", None) or getattr(node, "returns", None) or ast.Pass()):
                    self._use(each, home)
        for default in (*function.args.defaults, *function.args.kw_defaults):
            for each in ast.walk(default or ast.Pass()):
                self._use(each, home)
        kept: list[ast.stmt] = [ast.Expr(ast.Constant(doc))] if doc else [ast.Expr(ast.Constant(...))]
        returns = function.returns
        if not is_direct and isinstance(returns, ast.Name) and returns.id == CONDITION:
            self.imports["Begun"] = "kafkalet.testing.mirror"
            is_direct, returns = True, ast.Name(f"Begun[{returns.id}]")
        make = ast.FunctionDef if is_direct or is_property else ast.AsyncFunctionDef
        kinds = ("property", "setter", "overload")
        decorators = [each for each in function.decorator_list if ast.unparse(each).split(".")[-1] in kinds]
        for each in decorators:
            self._use(each, home)
        made = make(function.name, function.args, kept, decorators, returns, lineno=1)
        return indent(ast.unparse(ast.fix_missing_locations(made)), "    ")

    def _use(self, node: ast.AST, home: "Module") -> None:
        """If the node is a name, rename it to the mirror of its class, or import it."""
        if not isinstance(node, ast.Name):
            return
        if node.id in self.names:
            node.id = self.names[node.id]
        elif node.id in home.imports or node.id in home.defined:
            origin = home.imports.get(node.id, home.name)
            if node.id in self.names.values():  # another class of that name
                self.imports[f"{node.id} as Any{node.id}"] = origin
                node.id = f"Any{node.id}"
            else:
                self.imports[node.id] = origin


def _functions(of: type, name: str) -> tuple["Module", list[ast.FunctionDef]]:
    """Return the definitions of a method: several if it has overloads or a setter."""
    kind = next(kind for kind in of.__mro__ if name in vars(kind))
    module = importlib.import_module(kind.__module__)
    home = Module(module.__name__, ast.parse(inspect.getsource(module)))
    [body] = [each.body for each in home.tree.body if isinstance(each, ast.ClassDef) and each.name == kind.__name__]
    return home, [each for each in body if isinstance(each, ast.FunctionDef) and each.name == name]


class _Unquoted(ast.NodeTransformer):
    """Removes the quotes of annotations."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.returns = self._unquoted(node.returns)
        for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            each.annotation = self._unquoted(each.annotation)
        return node

    @staticmethod
    def _unquoted(annotation: ast.expr | None) -> ast.expr | None:
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            return ast.parse(annotation.value, mode="eval").body
        return annotation


class Module:
    """A module of the kit, with the module that defines each name in it."""

    def __init__(self, name: str, tree: ast.Module) -> None:
        self.name = name
        self.tree = tree
        package = name.rpartition(".")[0]
        self.imports = {
            each.asname or each.name: f"{package}.{node.module}" if node.level else str(node.module)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for each in node.names
        }
        self.imports |= {each.name: "" for node in tree.body if isinstance(node, ast.Import) for each in node.names}
        self.defined = {
            name
            for node in tree.body
            for name in (
                [node.name]
                if isinstance(node, ast.ClassDef)
                else [target.id for target in node.targets if isinstance(target, ast.Name)]
                if isinstance(node, ast.Assign)
                else [node.target.id]
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
                else []
            )
        }


def text() -> str:
    """Return the stub, formatted."""
    import subprocess

    made = Stub().text()
    for arguments in (["check", "-q", "--fix", "--select", "I"], ["format", "-q"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", "kafkalet/aio.pyi", "-"]
        made = subprocess.run(command, input=made, capture_output=True, text=True, check=True).stdout  # noqa: S603
    return made


if __name__ == "__main__":
    STUB.write_text(text())
