"""The options of a cluster as a dict, for code that passes them on: fixtures, decorators, kafkalet.aio."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

from kafkalet.broker.arguments import PropertyValue
from kafkalet.broker.cluster.new_topics import NewTopic
from kafkalet.clock import Clock


class ClusterOptions(TypedDict, total=False):
    """The arguments of `kafkalet.Cluster`, which describes them."""

    brokers: int
    host: str
    port: int
    advertise: tuple[str, int] | None
    racks: Sequence[str] | None
    data_dir: str | os.PathLike[str] | None
    config: Mapping[str, PropertyValue] | None
    topics: Iterable[str | NewTopic]
    kafka_version: str
    clock: Clock | None
