"""The guard of unit tests, for these tests."""

from tests.unit.conftest import pytest_runtest_protocol  # noqa: F401
