"""The owner of a data directory, a cluster and a broker, as recorded in `meta.properties`.

    version=1                           KRaft; cluster.id and node.id are required
    cluster.id=MkU3OEVBNTcwNTJENDM2Qk
    node.id=1
    directory.id=ySGBAv3jJIMpzoGQaJWAZQ

    version=0                           ZooKeeper; `version` may be missing
    broker.id=1
    cluster.id=...                      since 0.10.1

A broker refuses the directory of another cluster, because it would serve records that are not its own. For the same
reason, a broker that was given an id refuses the directory of another broker. A broker that was not given an
id leaves the file unchanged, and a single broker takes the id in the file (broker/server.py), so it can open Apache
Kafka's directories whatever their broker id is.

Source: org.apache.kafka.metadata.properties.MetaProperties, MetaPropertiesEnsemble.verify.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

from kafkalet.formats import META_PROPERTIES
from kafkalet.properties import read_properties

from .files import Files

VERSIONS = ("0", "1")


class IdentityRefused(Exception):
    """The directory belongs to another cluster or broker, or its `meta.properties` is invalid."""


class Identity(NamedTuple):
    """The contents of `meta.properties`; None for a missing property."""

    cluster_id: str | None
    node_id: int | None
    directory_id: str | None = None


def read_identity(files: Files, directory: str) -> Identity | None:
    """Return the owner of a directory, or None if the file does not exist. Raises IdentityRefused, OSError."""
    path = os.path.join(directory, META_PROPERTIES)
    try:
        text = files.read_all(path).decode("latin-1")  # the encoding of java.util.Properties
    except FileNotFoundError:
        return None
    try:
        properties = read_properties(text)
    except ValueError as error:
        raise IdentityRefused(f"{path}: {error}") from error
    version = properties.get("version", "0").strip()
    if version not in VERSIONS:
        raise IdentityRefused(f"{path}: unknown version {_shown(version)}; expected 0 or 1")
    id_name = "broker.id" if version == "0" else "node.id"
    cluster_id, id_text = properties.get("cluster.id"), properties.get(id_name)
    if version == "1" and (cluster_id is None or id_text is None):
        raise IdentityRefused(f"{path}: {'cluster.id' if cluster_id is None else id_name} is missing")
    if cluster_id is None and id_text is None:
        raise IdentityRefused(f"{path}: {id_name} and cluster.id are both missing; without the file a new one is made")
    node_id = None if id_text is None else _number(id_text, id_name, path)
    return Identity(cluster_id, node_id, properties.get("directory.id"))


def check_identity(directory: str, found: Identity, cluster_id: str | None, node_id: int | None) -> None:
    """Raise IdentityRefused if a directory belongs to another cluster or broker. None matches any id."""
    path = os.path.join(directory, META_PROPERTIES)
    if cluster_id is not None and found.cluster_id is not None and found.cluster_id != cluster_id:
        raise IdentityRefused(
            f"{path}: cluster.id is {_shown(found.cluster_id)}, but this broker belongs to cluster {cluster_id}"
        )
    if node_id is not None and found.node_id not in (None, -1, node_id):
        raise IdentityRefused(
            f"{path}: the directory belongs to broker {found.node_id}, but the id of this broker is {node_id}; "
            "set that id, or use another directory"
        )


def write_identity(files: Files, directory: str, properties: Mapping[str, str]) -> None:
    """Write `meta.properties` as Kafka's storage tool does: `version`, `cluster.id`, `node.id`, `directory.id`."""
    text = "#\n" + "".join(f"{name}={value}\n" for name, value in properties.items())
    files.replace(os.path.join(directory, META_PROPERTIES), text.encode())


def _number(text: str, name: str, path: str) -> int:
    text = text.strip()
    if not text.removeprefix("-").isdecimal() or not text.isascii() or not -1 <= int(text[:12]) < 1 << 31:
        raise IdentityRefused(f"{path}: {name} is {_shown(text)}, which is not a valid broker id")
    return int(text)


def _shown(text: str) -> str:
    """Format a value from the file for a message: escaped if not printable, and truncated after 100 characters."""
    return text if text.isprintable() and len(text) <= 100 else ascii(text[:100])
