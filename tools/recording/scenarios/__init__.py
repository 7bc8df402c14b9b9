"""The definitions of the scenarios, one module for each subject; definitions.py describes how to write one."""

import importlib
import pkgutil

from tools.recording.definitions import DEFINITIONS, Definition


def definitions() -> dict[str, Definition]:
    """Return all definitions, keyed by scenario name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return DEFINITIONS
