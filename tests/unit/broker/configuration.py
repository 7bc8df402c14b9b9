"""The attributes of configurations that the product reads, and the properties that it reads by name."""

import ast
from functools import cache

from tests.source import SOURCE, tree_of


@cache
def reads_of_configurations() -> frozenset[str]:
    """The attributes that are read from variables named like a configuration: `config.x`, `node.config.x`,
    `log.config.x`.

    An attribute that is only copied to one of the same name is not among them.
    """
    read = set()
    for path in SOURCE.rglob("*.py"):
        of_log_config = path == SOURCE / "storage" / "config.py"
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                of = node.value
                name = of.id if isinstance(of, ast.Name) else of.attr if isinstance(of, ast.Attribute) else ""
                if name.lstrip("_") == "config" or (of_log_config and name == "self"):
                    read.add(node.attr)
    return frozenset(read)


TABLES = (
    "broker_properties.py",
    "group_properties.py",
    "client_metrics.py",
    "security_properties.py",
    "without_effect.py",
)


@cache
def names_in_code() -> frozenset[str]:
    """The strings in the code outside the tables of properties. They include the names of properties that are read as
    given.
    """
    trees = [tree_of(path) for path in SOURCE.rglob("*.py") if path.name not in TABLES]
    nodes = (node for tree in trees for node in ast.walk(tree))
    return frozenset(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
