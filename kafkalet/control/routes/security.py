"""Routes of security: ACLs, users, and the settings with which clients log in."""

from typing import Annotated

from kafkalet.control.route import Call, Routes
from kafkalet.control.shapes import Field, Json, ListOf, MapOf, Object, Text
from kafkalet.jaas import LOGIN_MODULES
from kafkalet.testing.client_config import properties_text

routes = Routes("security", "Users and ACLs.")

MAX_CREDENTIAL = 10_000
"""The longest name and password, in characters. Brokers accept no longer ones in SASL messages."""
ACL_HELP = "An ACL, as in `alice:read,describe:topic:orders*` or `deny:*:delete:topic:*`."
ACLS = Object("Acls", "ACLs.", Field("acls", ListOf(Text(least=1)), f"The ACLs. {ACL_HELP}"))
USERS = Object(
    "Users", "The users who can log in with a password.", Field("users", ListOf(Text()), "The names of the users.")
)
CLIENT_CONFIG = Object(
    "ClientConfig",
    "The settings of a client.",
    Field("config", MapOf(Text()), "The settings by name."),
    Field("properties", Text(), "The settings as the text of a Java properties file."),
)


@routes.get("/v1/acls", response=ACLS)
def list_acls(call: Call) -> Json:
    """Return the ACLs, in the order of their creation. Each has one operation."""
    return {"acls": list(map(str, call.cluster.acls))}


@routes.post("/v1/acls", "ACLs.", name="Acls", response=ACLS)
def add_acls(call: Call, acls: Annotated[list[Json], ListOf(Text(least=1)), f"The ACLs. {ACL_HELP}"]) -> Json:
    """Create ACLs, and return all. Those that exist stay as they are."""
    call.cluster.acls.add(*acls)
    return list_acls(call)


@routes.delete("/v1/acls", response=ACLS)
def remove_acl(call: Call, acl: Annotated[str, Text(least=1), ACL_HELP]) -> Json:
    """Delete an ACL, and return those that are left."""
    call.cluster.acls.remove(acl)
    return list_acls(call)


@routes.get("/v1/users", response=USERS)
def list_users(call: Call) -> Json:
    """Return the names of the users who can log in with a password."""
    return {"users": list(call.cluster.users)}


@routes.post("/v1/users", "A user and the password.", name="User", response=USERS)
def add_user(
    call: Call,
    name: Annotated[str, Text(least=1, most=MAX_CREDENTIAL), "The name of the user."],
    password: Annotated[str, Text(least=1, most=MAX_CREDENTIAL), "The password."],
) -> Json:
    """Create a user who can log in with PLAIN and SCRAM, or change the password. Return all names."""
    call.cluster.users.add(name, password)
    return list_users(call)


@routes.delete("/v1/users/{name}", response=USERS)
def remove_user(call: Call, name: Annotated[str, "The name of the user."]) -> Json:
    """Remove a user, and return the names of those who are left. Connections of the user stay open."""
    call.cluster.users.remove(name)
    return list_users(call)


@routes.get("/v1/client-config", response=CLIENT_CONFIG)
def get_client_config(
    call: Call,
    user: Annotated[str | None, Text(least=1), "The user who logs in. The default is no login."] = None,
    client: Annotated[
        str, Text("java", "confluent-kafka"), "The client: `java` or `confluent-kafka` (librdkafka)."
    ] = "java",
    mechanism: Annotated[
        str | None, Text(*LOGIN_MODULES), "The SASL mechanism. The default is the first enabled one."
    ] = None,
    listener: Annotated[str | None, Text(least=1), "The listener. The default is the first one that fits."] = None,
) -> Json:
    """Return the settings with which a client logs in and trusts the brokers. They contain the password."""
    found = call.cluster.client_config(user, client=client, mechanism=mechanism, listener=listener)
    config = {name: str(value).lower() if isinstance(value, bool) else value for name, value in found.items()}
    return {"config": config, "properties": properties_text(config)}
