"""Snapshots of a whole cluster, in memory or in a file.

    empty_shop = kafka.snapshot()                   topics, records, groups, transactions, configs
    ...
    kafka.restore(empty_shop)

A file is a tar archive of a data directory with Kafka's own files, so it can also be unpacked and served:

    empty_shop.save("shop.tar")
    kafka.restore(Snapshot.load("shop.tar"))
"""

from __future__ import annotations

import io
import os
import tarfile
from typing import Self

from kafkalet.broker.cluster.cluster_image import ClusterImage
from kafkalet.broker.cluster.metadata_store import FILE, MetadataDamaged, MetadataStore
from kafkalet.storage.image import StoredFile

BROKERS = "KAFKALET.brokers"
FIRST_NODE_ID = "KAFKALET.first_node_id"


class Snapshot:
    """The contents of a cluster at one moment, returned by `Cluster.snapshot`. It never changes."""

    __slots__ = ("image",)

    def __init__(self, image: ClusterImage) -> None:
        self.image = image
        """The files of the data directory. Their format may change in any release."""

    def __repr__(self) -> str:
        return f"<snapshot of {self.image.brokers} broker{'s' * (self.image.brokers > 1)}, {self.size_bytes} bytes>"

    @property
    def size_bytes(self) -> int:
        """The size of all files."""
        return sum(len(stored.data) for stored in self.image.files.values())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the snapshot to a file, which is replaced if it exists. Raises OSError."""
        temporary = f"{os.fspath(path)}.tmp"
        headers = {BROKERS: str(self.image.brokers), FIRST_NODE_ID: str(self.image.first_node_id)}
        with tarfile.open(temporary, "w", format=tarfile.PAX_FORMAT, pax_headers=headers) as archive:
            for name, (data, modified_ms) in self.image.files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                entry.mtime = 0 if modified_ms is None else modified_ms / 1000
                archive.addfile(entry, io.BytesIO(data))
        os.replace(temporary, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a snapshot from a file. Raises OSError, and ValueError if the file is not a snapshot."""
        files: dict[str, StoredFile] = {}
        name = os.fspath(path)
        try:
            with tarfile.open(path, "r:") as archive:
                for entry in archive:
                    if (content := archive.extractfile(entry)) is not None:
                        _check_name(entry.name)
                        modified_ms = round(entry.mtime * 1000) if entry.name.endswith(".log") else None
                        files[entry.name] = StoredFile(content.read(), modified_ms)
                headers = archive.pax_headers
            if FILE not in files or not {BROKERS, FIRST_NODE_ID} <= headers.keys():
                raise ValueError("Snapshot.save() did not write it")
            MetadataStore.decode(files[FILE].data, FILE)
            return cls(ClusterImage(files, int(headers[FIRST_NODE_ID]), int(headers[BROKERS])))
        except (tarfile.TarError, ValueError, ArithmeticError, MetadataDamaged) as error:
            raise ValueError(f"{name} is not a snapshot: {error}") from error


def _check_name(name: str) -> None:
    parts = name.split("/")
    if name.startswith("/") or "\\" in name or any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"it contains {name!r}, which is not a file of a data directory")
