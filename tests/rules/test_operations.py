"""The Python kit, the control API, the command line and the clients have the same operations.

The command line and the clients for Go, Java and Node are derived from the OpenAPI document. This module compares the
kit with the routes and the document: each public name is used by a route or is a field, and actions and parameters have
the names of the kit. Exceptions have their reasons below.
"""

import ast
import inspect

import pytest

import kafkalet.aio  # noqa: F401 - fills MIRRORS
from kafkalet.commands.ctl_commands import commands, document
from kafkalet.testing.connections import ClientConnection
from kafkalet.testing.mirror import MIRRORS
from tests.source import SOURCE
from tools.clients import read

KIT = [*MIRRORS, ClientConnection]
ONLY_IN_PYTHON = {
    "address": "a broker has host and port",
    "create": "the API refuses to create a topic that exists",
    "exists": "GET /v1/topics/{name} has the status 404",
    "logs": "each partition has its path",
    "now": "the API has milliseconds",
    "partition_count": "a topic has its partitions",
    "send_batch": "the API sends one record or several",
    "send_json": "the value of a record is text",
    "assert_no_unsupported": "GET /v1/requests/unsupported",
    "bootstrap_servers_of": "each broker has its listeners",
    "bootstrap_controllers": "the address that the option controller has chosen",
    "java_properties_file": "GET /v1/client-config has the text",
    "remove_faults": "DELETE /v1/faults, which also returns them",
    "unfired_faults": "a field of each fault",
    "lags": "each partition has its lag",
    "start_offsets": "each position has its start offset",
    "is_closed": "a closed connection is not listed",
}
"""Public names that no route uses, and why."""
PARAMETERS_ONLY_IN_PYTHON = {
    **dict.fromkeys(("predicate", "when", "where"), "a function"),
    "start": "the API has since_ms and until_ms",
    "by": "a timedelta",
    "exactly": "a test reads the records after `settle`",
    "json": "the value of a record is text",
    "snapshot": "the body of a request",
    "strict": "DELETE /v1/faults/{fault_id} returns `unfired`",
    "unknown": "unknown fields are refused",
}
"""Parameters of operations that the API has without them, and why."""
ONLY_IN_THE_API = {
    "begin": "the kit begins a transaction with `with`",
    "run": "a noun comes before it, as in run_cleaner",
    "wait": "wait_for, wait_until and wait_until_fired, by the object",
}
"""Actions in paths that are no names of the kit, and why."""


def used_by_routes() -> set[str]:
    """Return the attributes that the routes use."""
    trees = [ast.parse(path.read_text()) for path in (SOURCE / "control").rglob("*.py")]
    return {node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


FIELDS = {name for schema in document()["components"]["schemas"].values() for name in schema["properties"]} | {
    each["name"]
    for methods in document()["paths"].values()
    for operation in methods.values()
    for each in operation.get("parameters", ())
}
"""The fields and the parameters of the API."""
USED = used_by_routes()


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def parameters(kind: type) -> set[str]:
    """Return the parameters of the methods that the API has."""
    members = [getattr(kind, name) for name in public(kind) - set(ONLY_IN_PYTHON)]
    return {name for each in members if inspect.isfunction(each) for name in inspect.signature(each).parameters} - {
        "self"
    }


@pytest.mark.parametrize("kind", KIT)
def test_parameter_of_the_kit_is_a_field_or_parameter_of_the_api(kind: type) -> None:
    assert parameters(kind) - FIELDS - set(PARAMETERS_ONLY_IN_PYTHON) == set()


def test_action_in_a_path_has_the_name_of_the_kit() -> None:
    posts = [path for path, methods in document()["paths"].items() if "post" in methods]
    actions = {path.rpartition("/")[2].replace("-", "_") for path in posts}
    assert actions - set().union(*map(public, KIT)) == set(ONLY_IN_THE_API)


@pytest.mark.parametrize("kind", KIT)
def test_public_name_of_the_kit_is_used_by_a_route_or_is_a_field(kind: type) -> None:
    assert public(kind) - USED - FIELDS - set(ONLY_IN_PYTHON) == set()


def test_names_only_in_python_are_of_the_kit_and_not_of_the_routes() -> None:
    assert set(ONLY_IN_PYTHON) <= set().union(*map(public, KIT)) - USED - FIELDS
    assert set(PARAMETERS_ONLY_IN_PYTHON) <= set().union(*map(parameters, KIT)) - FIELDS


def test_every_operation_is_a_command_and_a_method_of_each_client() -> None:
    operations = {each["operationId"] for methods in document()["paths"].values() for each in methods.values()}
    assert {command.operation["operationId"] for command in commands().values()} == operations
    assert {operation.name for operation in read()[1]} == operations - {
        "streamEvents"
    }  # needs no client: an EventSource
