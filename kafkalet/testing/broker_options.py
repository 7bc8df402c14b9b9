"""The options of a broker as tests write them: in the marker `kafka`, as a parameter, or for a decorator.

They are the arguments of `kafkalet.Cluster`, and

    version   a short name for `kafka_version`
    topics    may also be a dict of names and numbers of partitions, {"orders": 6}
    timeout   the timeout of waits that specify none, in seconds
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .options import ClusterOptions

if TYPE_CHECKING:
    from kafkalet.broker.cluster.new_topics import NewTopic

    from .cluster import Cluster

ARGUMENTS = tuple(ClusterOptions.__annotations__)
"""The arguments of `kafkalet.Cluster`."""
NAMES = ("version", *ARGUMENTS, "timeout")
OF_THE_MARKER = ("env", "needs")
"""Additional options of the marker: names of environment variables, and features that the test needs."""


def check_names(what: str, given: Mapping[str, Any], allowed: tuple[str, ...] = NAMES) -> None:
    """Raise TypeError if one of the options does not exist. `what` names their source in the message."""
    for name in given:
        if name not in allowed:
            from kafkalet.suggestions import did_you_mean

            hint = did_you_mean(name, allowed)
            space = " " if hint else ""
            raise TypeError(f"{what} has no option {name!r}; {hint}{space}The options are {', '.join(sorted(allowed))}")
    if "version" in given and "kafka_version" in given:
        raise TypeError(f"{what} has both version and kafka_version, which are the same option; give one of them")


def merged(layers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Combine options; the closest ones are last.

    A later value replaces an earlier one. Properties, topics, users, ACLs, environment variables and needed features
    are collected from all layers; for each property, topic and user, the last value applies.
    """
    found: dict[str, Any] = {}
    for layer in layers:
        for given_name, value in layer.items():
            name = "kafka_version" if given_name == "version" else given_name
            if name == "topics":
                found[name] = {**found.get(name, {}), **_topics_by_name(value)}
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


def _topics_by_name(given: object) -> dict[str, NewTopic]:
    from kafkalet.broker import arguments
    from kafkalet.broker.cluster.new_topics import NewTopic, checked_topics

    if not isinstance(given, Mapping):
        return {topic.name: topic for topic in checked_topics(given)}  # type: ignore[arg-type]  # it checks the type
    topics = []
    for name, value in given.items():
        if isinstance(value, Mapping):
            check_names(f"topic {name}", value, NewTopic._fields[1:])
            topics.append(NewTopic(name, **value))
        elif isinstance(value, NewTopic):
            topics.append(value._replace(name=name))
        elif value is None:
            topics.append(NewTopic(name))
        elif isinstance(value, int) and not isinstance(value, bool):
            topics.append(NewTopic(name, value))
        else:
            raise TypeError(
                f"the value of topic {name} must be a number of partitions or a dict such as "
                f'{{"partitions": 6, "config": {{...}}}}, not {arguments.shown(value)}'
            )
    return {topic.name: topic for topic in checked_topics(topics)}


def new_cluster(options: Mapping[str, Any], brokers: int = 1) -> Cluster:
    """Return a cluster with these options, which is not started yet.

    `brokers` is the default of the option. One broker is a `Broker`, unless the default is a cluster. Raises TypeError
    or ValueError for an invalid option.
    """
    from .cluster import Broker, Cluster
    from .waiting import timeout_s

    arguments = merged([options])
    timeout = arguments.pop("timeout", None)
    number = arguments.pop("brokers", brokers)
    if "topics" in arguments:
        arguments["topics"] = list(arguments["topics"].values())
    kind = Broker if brokers == 1 and number == 1 else Cluster
    cluster = kind(number, **arguments)
    cluster.timeout_s = timeout_s(cluster, timeout)
    return cluster
