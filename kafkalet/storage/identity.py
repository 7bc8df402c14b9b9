"""Whose a data directory is: `meta.properties`, which names a cluster and a broker.

    version=1                           KRaft; cluster.id and node.id have to be there
    cluster.id=MkU3OEVBNTcwNTJENDM2Qk
    node.id=1
    directory.id=ySGBAv3jJIMpzoGQaJWAZQ

    version=0                           ZooKeeper, also without `version`
    broker.id=1
    cluster.id=...                      since 0.10.1

A broker does not open the directory of another cluster, or of another broker if its id was given: it would serve
records that are not its own. Without a given id the broker takes any directory, and leaves the file as it is: so a
directory of Apache Kafka opens whatever id it has.

Source: org.apache.kafka.metadata.properties.MetaProperties, MetaPropertiesEnsemble.verify.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from kafkalet.properties import read_properties

from .files import Files, read_all

META_PROPERTIES = "meta.properties"
VERSIONS = ("0", "1")


class IdentityRefused(Exception):
    """The directory is that of another broker, or does not say whose it is. The text names the file."""


class Identity(NamedTuple):
    """What the file says; None for what it does not say."""

    cluster_id: str | None
    node_id: int | None


def read_identity(directory: str) -> Identity | None:
    """Whose a directory is; None if the file does not exist. Raises IdentityRefused, OSError."""
    path = os.path.join(directory, META_PROPERTIES)
    try:
        text = read_all(path).decode("latin-1")  # as Java reads it
    except FileNotFoundError:
        return None
    try:
        properties = read_properties(text)
    except ValueError as error:
        raise IdentityRefused(f"{path}: {error}") from error
    version = properties.get("version", "0").strip()
    if version not in VERSIONS:
        raise IdentityRefused(f"{path}: version {_shown(version)} is not known, only 0 and 1 are")
    id_name = "broker.id" if version == "0" else "node.id"
    cluster_id, id_text = properties.get("cluster.id"), properties.get(id_name)
    if version == "1" and (cluster_id is None or id_text is None):
        raise IdentityRefused(f"{path}: {'cluster.id' if cluster_id is None else id_name} is missing")
    if cluster_id is None and id_text is None:
        raise IdentityRefused(f"{path}: neither {id_name} nor cluster.id is in it; without the file one is made")
    return Identity(cluster_id, None if id_text is None else _number(id_text, id_name, path))


def check_identity(directory: str, found: Identity, cluster_id: str | None, node_id: int | None) -> None:
    """Raise IdentityRefused unless a directory is that of this cluster and broker; None stands for any."""
    path = os.path.join(directory, META_PROPERTIES)
    if cluster_id is not None and found.cluster_id is not None and found.cluster_id != cluster_id:
        raise IdentityRefused(
            f"{path}: cluster.id is {_shown(found.cluster_id)}, but this is a broker of the cluster {cluster_id}"
        )
    if node_id is not None and found.node_id is not None and found.node_id != node_id:
        raise IdentityRefused(
            f"{path}: the directory is that of broker {found.node_id}, but the id of this broker is {node_id}; "
            "give that id, or another directory"
        )


def write_identity(files: Files, directory: str, properties: Mapping[str, str]) -> None:
    """Write what Kafka's storage tool would: `version`, `cluster.id`, `node.id`, `directory.id`."""
    text = "#\n" + "".join(f"{name}={value}\n" for name, value in properties.items())
    files.replace(os.path.join(directory, META_PROPERTIES), text.encode())


def _number(text: str, name: str, path: str) -> int:
    text = text.strip()
    if not text.removeprefix("-").isdecimal() or not text.isascii() or not -1 <= int(text[:12]) < 1 << 31:
        raise IdentityRefused(f"{path}: {name} is {_shown(text)}, which is no id of a broker")
    return int(text)


def _shown(text: str) -> str:
    """A value from the file in a message: what is no text must not break the line."""
    return text if text.isprintable() and len(text) <= 100 else ascii(text[:100])
