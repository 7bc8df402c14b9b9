"""The Python API: signatures and docstrings, read from the source without importing it."""

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {"kafkalet": ROOT, "kafkalet_conformance": ROOT / "conformance", "kafkalet_spark": ROOT / "spark"}
"""The folders of the packages."""
LONGEST = 88
"""The length of a signature in one line."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Member(NamedTuple):
    """A public member of a class: the signatures of a method, or the type of an attribute."""

    name: str
    signatures: list[str]
    text: str
    """The docstring, or an empty string."""
    is_method: bool


def class_(path: str, *options: str) -> str:
    """Describe a class: its constructor, its docstring, its attributes and its methods.

    Options are `own` (no inherited members), `bare` (no constructor), and `only NAME...` or `without NAME...`.
    """
    module, node = _find(path)
    assert isinstance(node, ast.ClassDef)
    members = list(_members(module, node, is_inherited="own" not in options))
    if "only" in options:
        members = [each for each in members if each.name in options]
    elif "without" in options:
        members = [each for each in members if each.name not in options]
    fields = [each for each in members if not each.is_method]
    parts = [] if "bare" in options else [_code(_constructor(module, node))]
    parts.append(_docstring(node))
    if fields:
        parts.append("\n".join(_item(each) for each in fields))
    for each in members:
        if each.is_method:
            parts += [f"#### {node.name}.{each.name}", _code(*each.signatures), each.text]
    return "\n\n".join(filter(None, parts))


def function(path: str) -> str:
    """Describe a function."""
    _, node = _find(path)
    assert isinstance(node, Function)
    return f"{_code(_signature(node))}\n\n{_docstring(node)}"


def docstring(path: str) -> str:
    """Return the docstring of a class or function, for example of a fixture, which has no signature."""
    return _docstring(_find(path)[1])


def alias(*paths: str) -> str:
    """List names of types, with what they stand for."""
    lines = []
    for path in paths:
        module, _, name = path.rpartition(".")
        body = _tree(module).body
        at = next(at for at, node in enumerate(body) if _target(node) == name)
        node = body[at]
        assert isinstance(node, ast.Assign | ast.AnnAssign)
        assert node.value is not None
        lines.append(_item(Member(name, [_unparsed(node.value)], _text_after(body, at), is_method=False)))
    return "\n".join(lines)


@cache
def _tree(module: str) -> ast.Module:
    path = FOLDERS[module.split(".")[0]].joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def _find(path: str) -> tuple[str, ast.ClassDef | Function]:
    """Return the definition with this full name, and the name of its module."""
    module, _, name = path.rpartition(".")
    for node in _tree(module).body:
        if isinstance(node, ast.ClassDef | Function) and node.name == name:
            return module, node
    raise LookupError(f"{module} defines no {name}")


def _ancestors(module: str, node: ast.ClassDef) -> Iterator[tuple[str, ast.ClassDef]]:
    """Yield a class, and the classes of kafkalet from which it inherits."""
    yield module, node
    for name in [ast.unparse(base).partition("[")[0] for base in node.bases]:
        for other in [module, *_imported_from(module, name)] if name.isidentifier() else []:
            try:
                found = _find(f"{other}.{name}")
            except LookupError:
                continue
            assert isinstance(found[1], ast.ClassDef)
            yield from _ancestors(found[0], found[1])


def _imported_from(module: str, name: str) -> list[str]:
    package = module.rpartition(".")[0]
    return [
        found
        for node in _tree(module).body
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]
        if (found := f"{package}.{node.module}" if node.level else str(node.module)).split(".")[0] in FOLDERS
    ]


def _members(module: str, node: ast.ClassDef, is_inherited: bool) -> Iterator[Member]:
    seen = set()
    for at, (home, kind) in enumerate(_ancestors(module, node)):
        if at and not is_inherited:
            return
        for member in _own_members(kind, _has_fields(home, kind)):
            if not member.name.startswith("_") and member.name not in seen:
                seen.add(member.name)
                yield member


def _has_fields(module: str, node: ast.ClassDef) -> bool:
    """Return whether the attributes of a class are the arguments of its constructor."""
    decorators = [ast.unparse(each).partition("(")[0] for each in node.decorator_list]
    return "dataclass" in decorators or any(
        "NamedTuple" in map(ast.unparse, each.bases) for _, each in _ancestors(module, node)
    )


def _own_members(node: ast.ClassDef, has_fields: bool) -> Iterator[Member]:
    """Yield the members that a class defines. Except for fields, those without a docstring are not public."""
    functions: dict[str, list[Function]] = {}
    for at, each in enumerate(node.body):
        if isinstance(each, Function):
            functions.setdefault(each.name, []).append(each)
            if each.name == "__init__":
                yield from _assigned(each)
        elif (name := _target(each)) and ((text := _text_after(node.body, at)) or has_fields):
            kind = [_type(each.annotation)] if isinstance(each, ast.AnnAssign) else []
            yield Member(name, kind, text, is_method=False)
    for name, found in functions.items():
        decorators = {ast.unparse(each) for one in found for each in one.decorator_list}
        if text := next(filter(None, map(_docstring, found)), ""):
            if "property" in decorators:
                kind = [_type(found[0].returns)] if found[0].returns else []
                yield Member(name, kind, text, is_method=False)
            else:
                shown = [each for each in found if "overload" in map(ast.unparse, each.decorator_list)] or found
                yield Member(name, [_signature(each) for each in shown], text, is_method=True)


def _assigned(constructor: Function) -> Iterator[Member]:
    """Yield the attributes with a docstring that a constructor assigns."""
    types = {each.arg: each.annotation for each in [*constructor.args.args, *constructor.args.kwonlyargs]}
    for at, node in enumerate(constructor.body):
        if (name := _target(node)) and (text := _text_after(constructor.body, at)):
            kind = node.annotation if isinstance(node, ast.AnnAssign) else None
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                kind = types.get(node.value.id)
            yield Member(name, [_type(kind)] if kind else [], text, is_method=False)


def _target(node: ast.stmt) -> str:
    """Return the name, or the attribute of `self`, that a statement assigns, or an empty string."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target).removeprefix("self.")
    return ""


def _text_after(body: list[ast.stmt], at: int) -> str:
    """Return the docstring of an attribute: the string after its assignment."""
    after = body[at + 1] if at + 1 < len(body) else None
    is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    return inspect.cleandoc(str(after.value.value)) if is_text else ""  # type: ignore[union-attr]


def _docstring(node: ast.ClassDef | Function) -> str:
    return ast.get_docstring(node) or ""


def _constructor(module: str, node: ast.ClassDef) -> str:
    for home, kind in _ancestors(module, node):
        for each in kind.body:
            if isinstance(each, Function) and each.name == "__init__":
                return _wrapped(node.name, _parameters(each.args)[1:], "")
        if _has_fields(home, kind):
            fields = [each for each in kind.body if isinstance(each, ast.AnnAssign)]
            names = [
                ast.unparse(each).replace("=", " = ").replace("  ", " ")
                for each in fields
                if not _target(each).startswith("_") and "ClassVar" not in ast.unparse(each.annotation)
            ]
            return _wrapped(node.name, names, "")
    return f"{node.name}()"


def _signature(node: Function) -> str:
    decorators = [ast.unparse(each) for each in node.decorator_list]
    is_static = "staticmethod" in decorators
    parameters = _parameters(node.args)
    if not is_static and parameters[:1] in (["self"], ["cls"]):
        parameters = parameters[1:]
        parameters = parameters[1:] if parameters[:1] == ["/"] else parameters
    start = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    start = f"@{decorators[0]}\n{start}" if is_static or "classmethod" in decorators else start
    returns = f" -> {_type(node.returns)}" if node.returns else ""
    return _wrapped(f"{start}{node.name}", parameters, returns)


def _parameters(of: ast.arguments) -> list[str]:
    """Return the parameters of a function, each with its annotation and its default."""
    positional = [*of.posonlyargs, *of.args]
    defaults = [*[None] * (len(positional) - len(of.defaults)), *of.defaults]
    found = [_parameter(each, default) for each, default in zip(positional, defaults, strict=True)]
    if of.posonlyargs:
        found.insert(len(of.posonlyargs), "/")
    if of.vararg:
        found.append(f"*{_parameter(of.vararg, None)}")
    elif of.kwonlyargs:
        found.append("*")
    found += [_parameter(each, default) for each, default in zip(of.kwonlyargs, of.kw_defaults, strict=True)]
    if of.kwarg and "Never" not in (keywords := _parameter(of.kwarg, None)):
        found.append(f"**{keywords}")
    return found


def _parameter(node: ast.arg, default: ast.expr | None) -> str:
    kind = f": {_type(node.annotation)}" if node.annotation else ""
    return node.arg + kind + (f"{' = ' if kind else '='}{_unparsed(default)}" if default else "")


def _type(node: ast.expr) -> str:
    """Return an annotation without the quotes of a forward reference."""
    return str(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else _unparsed(node)


def _unparsed(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if '"' in text else text.replace("'", '"')


def _wrapped(name: str, parameters: list[str], returns: str) -> str:
    line = f"{name}({', '.join(parameters)}){returns}"
    if len(line.rpartition("\n")[2]) <= LONGEST or not parameters:
        return line
    lines = ",\n    ".join(parameters)
    return f"{name}(\n    {lines},\n){returns}"


def _code(*signatures: str) -> str:
    return "```py\n{}\n```".format("\n".join(signatures))


def _item(member: Member) -> str:
    kind = f": `{member.signatures[0]}`" if member.signatures else ""
    text = member.text.replace("\n", "\n  ").replace("\n  \n", "\n\n")
    return f"- **`{member.name}`**{kind}" + (f"  \n  {text}" if text else "")
