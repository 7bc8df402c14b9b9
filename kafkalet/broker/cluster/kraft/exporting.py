"""Writes the files that Apache Kafka needs to open a data directory: `meta.properties` of KRaft, and a metadata log.

The logs and their checkpoints are Kafka's own files anyway. A KRaft broker also needs metadata: logs of topics that it
does not know are renamed to -stray. The metadata of the cluster becomes a snapshot, which is the whole metadata log
(snapshot.py). A metadata log that Apache Kafka wrote earlier is replaced, because the metadata here is newer.
"""

import os
from collections.abc import Mapping, Sequence

from kafkalet.broker.cluster.metadata import MetadataImage, new_topic_id
from kafkalet.broker.cluster.metadata_store import BOOTSTRAP, METADATA_LOG
from kafkalet.formats import META_PROPERTIES, parse_uuid, uuid_text
from kafkalet.properties import read_properties
from kafkalet.protocol.wire import ZERO_UUID
from kafkalet.storage.checkpoints import mark_clean_shutdown
from kafkalet.storage.files import Files, replace_file
from kafkalet.storage.identity import write_identity

from .image_records import BROKER_EPOCH, Cluster, encoded_records
from .snapshot import NAME, snapshot_bytes


def write_metadata_log(
    image: MetadataImage,
    next_producer_id: int,
    levels: Mapping[str, int],
    paths: Mapping[int, Sequence[str]],
    files: Files,
    now_ms: int,
) -> int:
    """Write the metadata to the first directory of the first broker. Return the number of records.

    `paths` are the log directories of each broker, which must be cleanly closed. `levels` are the feature levels with
    which Kafka will run. Like kafkalet.json, the file is readable only by its owner if it may contain secrets. Raises
    OSError, and ValueError for an invalid `meta.properties`.
    """
    ids = {path: _identify(files, path, image.cluster_id, node_id) for node_id in paths for path in paths[node_id]}

    def directory_id(node_id: int, topic: str, partition: int) -> bytes:
        known = paths.get(node_id, ())
        for path in known:
            if len(known) == 1 or files.system.is_directory(os.path.join(path, f"{topic}-{partition}")):
                return ids[path]
        return ZERO_UUID

    directories = {node_id: [ids[path] for path in paths[node_id]] for node_id in paths}
    values = encoded_records(image, Cluster(levels, next_producer_id, directories, directory_id))
    for path in ids:
        _remove_metadata_log(files, path)
        mark_clean_shutdown(files, path, BROKER_EPOCH)
    folder = os.path.join(paths[min(paths)][0], METADATA_LOG)
    files.system.make_directory(folder)
    data = snapshot_bytes(values, now_ms)
    path, is_private = os.path.join(folder, NAME), image.may_contain_secrets
    replace_file(path, data, durable=files.durable, private=is_private, system=files.system)
    return len(values)


def _identify(files: Files, path: str, cluster_id: str, node_id: int) -> bytes:
    """Return the id of a log directory. `meta.properties` is changed to KRaft's version if necessary."""
    file = os.path.join(path, META_PROPERTIES)
    try:
        found = read_properties(files.read_all(file).decode("latin-1"))
    except FileNotFoundError:
        found = {}
    name = found.get("directory.id", "").strip()
    directory_id = parse_uuid(name) if name else new_topic_id()
    wanted = {
        "node.id": str(node_id),
        "directory.id": uuid_text(directory_id),
        "version": "1",
        "cluster.id": found.get("cluster.id", cluster_id),
    }
    if found != wanted:
        write_identity(files, path, wanted)
    return directory_id


def _remove_metadata_log(files: Files, path: str) -> None:
    bootstrap, folder = os.path.join(path, BOOTSTRAP), os.path.join(path, METADATA_LOG)
    if files.system.exists(bootstrap):
        files.system.unlink(bootstrap)
    if files.system.exists(folder):
        files.system.remove_tree(folder)
