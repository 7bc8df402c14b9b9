"""Decides where the metadata of a data directory comes from: from kafkalet.json or from a metadata log of Kafka.

* Without kafkalet.json, the metadata log is used, or bootstrap.checkpoint if there is none (the cluster was formatted,
  but never started, or its metadata log is in another directory).
* With both, the one that was written last is used. kafkalet.json contains the size of the metadata log when it was
  read. If the log has changed since, Apache Kafka has run on this directory, and its metadata replaces kafkalet.json:
  Kafka renames the directories of topics that it does not know to `-stray` anyway. kafkalet itself never writes
  segments: the log of an exported directory is a snapshot, and its first segment is Kafka's.
* A kafkalet.json that does not mention a metadata log was written after the log by a version that did not read it.

The metadata of a log may contain properties that this release does not accept. They are logged and ignored.
"""

import logging
import os
from collections.abc import Callable, Iterable

from kafkalet.broker.cluster.features import every_level
from kafkalet.broker.cluster.metadata import MetadataImage
from kafkalet.broker.cluster.metadata_store import BOOTSTRAP, LoadedMetadata, MetadataStore
from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.quoting import quoted, shown
from kafkalet.properties import InvalidProperty

from .metadata_log import Entry, MetadataLog, find_logs, read_bootstrap
from .replay import Replay

_LOG = logging.getLogger(__name__)


def open_metadata(store: MetadataStore, log_directories: Iterable[str], config: BrokerConfig) -> LoadedMetadata | None:
    """Return the metadata of a data directory; None if it has none. Raises MetadataDamaged, OSError."""
    directories = list(dict.fromkeys(log_directories))
    saved, used_producer_ids = store.load(), 0
    logs = find_logs(directories, store.files)
    log = max(logs, key=lambda each: each.state, default=None)
    if saved is not None:
        image, next_producer_id = saved
        if log is None or image.metadata_log == log.state:
            return LoadedMetadata(image, next_producer_id)
        if image.metadata_log is None:
            image.metadata_log = log.state
            return LoadedMetadata(image, next_producer_id)
        used_producer_ids = next_producer_id
        _LOG.warning("%s has changed since %s was written; using the metadata of Kafka", log.directory, store.file)
    if log is not None:
        found = _from_log(log, config)
        return found._replace(next_producer_id=max(found.next_producer_id, used_producer_ids))
    bootstrap = (os.path.join(directory, BOOTSTRAP) for directory in directories)
    path = next((path for path in bootstrap if store.files.system.is_file(path)), None)
    return None if path is None else _from_bootstrap(path, store, config)


def _from_log(log: MetadataLog, config: BrokerConfig) -> LoadedMetadata:
    state = log.state
    replay = Replay()
    for entry in log.entries():
        replay.apply(entry)
    image = _finish(replay, config)
    image.metadata_log = state
    _LOG.info(
        "opened the metadata of Apache Kafka in %s up to offset %d: %d topics",
        *(log.directory, log.end_offset, len(image.topics)),
    )
    return LoadedMetadata(image, replay.next_producer_id, is_complete=not log.is_damaged)


def _from_bootstrap(path: str, store: MetadataStore, config: BrokerConfig) -> LoadedMetadata:
    replay = Replay()
    for offset, content in enumerate(read_bootstrap(path, store.files)):
        replay.apply(Entry(offset, content))
    _LOG.info("opened the metadata in %s, because there is no metadata log", path)
    return LoadedMetadata(_finish(replay, config), 0, has_producer_ids=False)


def _finish(replay: Replay, config: BrokerConfig) -> MetadataImage:
    image = replay.finish()
    image.feature_levels = every_level(replay.features)
    for topic in image.topics.values():
        _drop_invalid(topic.config, f"topic {topic.name}", lambda given: config.log_config(given))
    for node_id, properties in image.broker_config.items():
        whose = "all brokers" if node_id is None else f"broker {node_id}"
        _drop_invalid(properties, whose, lambda given: config.for_broker({}).reconfigure(given, {}))
    return image


def _drop_invalid(properties: dict[str, str], whose: str, check: Callable[[dict[str, str]], object]) -> None:
    """Remove the properties that `check` refuses with InvalidProperty."""
    while True:
        try:
            check(properties)
            return
        except InvalidProperty as error:
            names = [error.name] if error.name in properties else list(properties)
            if not names:
                raise
            for name in names:
                _LOG.warning("ignoring property %s of %s: %s", quoted(name), quoted(whose), shown(error))
                del properties[name]
