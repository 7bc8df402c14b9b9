"""The options of a broker as tests write them: in the marker `kafka`, as a parameter, or for a decorator.

They are the arguments of `kafkalet.Cluster`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from kafkalet.broker.arguments import BrokerProperties, DataDir
from kafkalet.broker.cluster.new_topics import Topics, checked_topics
from kafkalet.broker.security.acl import Acl
from kafkalet.clock import Clock

if TYPE_CHECKING:
    from .cluster import Cluster


class ClusterOptions(TypedDict, total=False):
    """The arguments of `kafkalet.Cluster`, which describes them."""

    brokers: int
    host: str
    port: int
    controller: str | None
    advertise: tuple[str, int] | None
    racks: Sequence[str] | None
    data_dir: DataDir | None
    read_only: bool
    config: BrokerProperties | None
    topics: Topics
    version: str
    features: Mapping[str, int] | None
    clock: Clock | None
    tls: bool
    users: Mapping[str, str] | None
    super_users: Mapping[str, str] | Iterable[str]
    acls: Iterable[str | Acl]
    timeout: float


NAMES = tuple(ClusterOptions.__annotations__)
OF_THE_MARKER = ("env", "needs")
"""Additional options of the marker: names of environment variables, and features that the test needs."""


def merged(layers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Combine options; the closest ones are last.

    A later value replaces an earlier one. Properties, topics, users, ACLs, environment variables and needed features
    are collected from all layers; for each property, topic and user, the last value applies.
    """
    found: dict[str, Any] = {}
    for layer in layers:
        for name, value in layer.items():
            if name == "topics":
                found[name] = {**found.get(name, {}), **{topic.name: topic for topic in checked_topics(value)}}
            elif name == "config" and isinstance(value, Mapping):
                found[name] = _collected(found.get(name, {}), value)
            elif name == "users" and isinstance(value, Mapping):
                found[name] = {**found.get(name, {}), **value}
            elif name == "acls" and isinstance(value, (list, tuple)):
                found[name] = [*found.get(name, []), *value]
            elif name in ("env", "needs"):
                found[name] = [*found.get(name, []), *_names(name, value)]
            else:
                found[name] = value
    return found


def _collected(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the properties of both, where those of a single broker are collected in the same way."""
    both = {**before, **after}
    for key, value in after.items():
        if isinstance(value, Mapping) and isinstance(before.get(key), Mapping):
            both[key] = {**before[key], **value}
    return both


def _names(option: str, given: object) -> list[str]:
    """Return a name or a list of names as a list."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, (list, tuple, set, frozenset)) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{option} must be a name or a list of names, not {given!r}")
    return list(names)


def new_cluster(options: Mapping[str, Any], brokers: int = 1) -> Cluster:
    """Return a cluster with these options, which is not started yet.

    `brokers` is the default of the option. One broker is a `Broker`, unless the default is a cluster. Raises TypeError
    or ValueError for an invalid option.
    """
    from .cluster import Broker, Cluster

    number = options.get("brokers", brokers)
    kind: type[Cluster] = Broker if brokers == 1 and number == 1 else Cluster
    return kind(**{**options, "brokers": number})
