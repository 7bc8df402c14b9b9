"""The hooks and fixtures of the tests of kafkalet, for these tests."""

from tests.conftest import (  # noqa: F401
    _replace_fsync,
    pytest_collection,
    pytest_collection_finish,
    pytest_collection_modifyitems,
    pytest_ignore_collect,
    pytest_itemcollected,
)
