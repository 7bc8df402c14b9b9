"""Which attributes of a configuration the product reads."""

import ast
from functools import cache

from tests.source import SOURCE, tree_of


@cache
def reads_of_configurations() -> frozenset[str]:
    """The attributes that are read of something called a configuration: `config.x`, `node.config.x`, `log.config.x`.

    What is only copied to an attribute of the same name elsewhere, and never read from a configuration, is not there.
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
