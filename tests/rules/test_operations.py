"""The Python kit, the control API, the command line and the clients have the same operations.

The command line and the clients for Go, Java and Node are derived from the OpenAPI document. This module compares the
kit with the routes: each public method is called by one, or ONLY_IN_PYTHON has the reason.
"""

import ast

import pytest

import kafkalet.aio  # noqa: F401 - fills MIRRORS
from kafkalet.commands.ctl_commands import commands, document
from kafkalet.testing.connections import ClientConnection
from kafkalet.testing.mirror import MIRRORS
from tests.source import SOURCE
from tools.clients import read

KIT = [*MIRRORS, ClientConnection]
ONLY_IN_PYTHON = {
    **dict.fromkeys(
        ("address", "coordinator", "exists", "logs", "partition_count", "started_ms", "timeout_ms"),
        "a field of a response",
    ),
    "create": "the API creates topics with assignments, too",
    "now": "the API has milliseconds",
    "send_batch": "the API sends one record or several",
    "send_json": "the value of a record is text",
    "timeout": "each request has its timeout",
    "assert_no_unsupported": "GET /v1/requests/unsupported",
    "bootstrap_servers_of": "each broker has its listeners",
    "java_properties_file": "GET /v1/client-config has the text",
    "remove_faults": "DELETE /v1/faults, which also returns them",
    "unfired_faults": "a field of each fault",
    "is_closed": "a closed connection is not listed",
}
"""Public names that no route uses, and why."""


def used_by_routes() -> set[str]:
    """Return the attributes that the routes use."""
    trees = [ast.parse(path.read_text()) for path in (SOURCE / "control").rglob("*.py")]
    return {node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


USED = used_by_routes()


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize("kind", KIT)
def test_public_name_of_the_kit_is_used_by_a_route(kind: type) -> None:
    assert public(kind) - USED - set(ONLY_IN_PYTHON) == set()


def test_names_only_in_python_are_of_the_kit_and_not_of_the_routes() -> None:
    assert set(ONLY_IN_PYTHON) <= set().union(*map(public, KIT)) - USED


def test_every_operation_is_a_command_and_a_method_of_each_client() -> None:
    operations = {each["operationId"] for methods in document()["paths"].values() for each in methods.values()}
    assert {command.operation["operationId"] for command in commands().values()} == operations
    assert {operation.name for operation in read()[1]} == operations - {
        "streamEvents"
    }  # needs no client: an EventSource
