"""Snapshots of a whole cluster, in memory or in a file.

    empty_shop = kafka.snapshot()                   topics, records, groups, transactions, configs
    ...
    kafka.restore(empty_shop)

A file is a tar archive of a data directory with Kafka's own files, so it can also be unpacked and served:

    empty_shop.save("shop.tar")
    kafka.restore(Snapshot.load("shop.tar"))

The first header of the archive contains a checksum of all files, so that a truncated archive is refused, even if it
ends between two entries.
"""

import io
import os
import re
import tarfile
from contextlib import suppress
from typing import IO, Self
from zlib import crc32

from kafkalet.broker.cluster.cluster_image import ClusterImage
from kafkalet.broker.cluster.metadata_store import FILE, MetadataDamaged, MetadataStore
from kafkalet.storage.image import Image, StoredFile

BROKERS = "KAFKALET.brokers"
FIRST_NODE_ID = "KAFKALET.first_node_id"
DIRECTORIES = "KAFKALET.directories"
CHECKSUM = "KAFKALET.checksum"

_NAME = re.compile(r"(?!.*(^|/)\.\.?(/|$))[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")
"""The path of a file in a data directory. It must not lead out of the directory or to a device on any system."""


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
        try:
            with open(temporary, "wb") as file:
                self.write(file)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise

    def write(self, file: IO[bytes]) -> None:
        """Write the snapshot to an open file. Raises OSError."""
        image = self.image
        headers = {
            BROKERS: str(image.brokers),
            FIRST_NODE_ID: str(image.first_node_id),
            DIRECTORIES: str(image.directories),
            CHECKSUM: _checksum(image.files),
        }
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT, pax_headers=headers) as archive:
            for name, (data, modified_ms) in image.files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                entry.mtime = 0 if modified_ms is None else modified_ms / 1000
                archive.addfile(entry, io.BytesIO(data))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a snapshot from a file. Raises OSError, and ValueError if the file is not a complete snapshot."""
        with open(path, "rb") as file:
            return cls.read(file, os.fspath(path))

    @classmethod
    def read(cls, file: IO[bytes], name: str) -> Self:
        """Read a snapshot from an open file, whose name is for messages. Raises like `load`."""
        try:
            with tarfile.open(fileobj=file, mode="r:") as archive:
                files = {entry.name: _stored(archive, entry) for entry in archive}
                headers = archive.pax_headers
            if not {BROKERS, FIRST_NODE_ID, DIRECTORIES, CHECKSUM} <= headers.keys():
                raise ValueError("Snapshot.save() did not write it")
            if FILE not in files or headers[CHECKSUM] != _checksum(files):
                raise ValueError("it is incomplete or damaged, because its checksum is wrong")
            MetadataStore.decode(files[FILE].data, FILE)
            brokers, first, directories = (int(headers[each]) for each in (BROKERS, FIRST_NODE_ID, DIRECTORIES))
            return cls(ClusterImage(files, first, brokers, directories))
        except (tarfile.TarError, ValueError, ArithmeticError, MetadataDamaged) as error:
            raise ValueError(f"{name} is not a snapshot: {error}") from error


def _stored(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> StoredFile:
    """Return an entry of an archive. Raises ValueError if it is not a plain file, and tarfile.TarError."""
    content = archive.extractfile(entry) if entry.isreg() and not entry.issparse() else None
    if content is None:
        raise ValueError(f"it contains {entry.name!r}, which is not a file")
    if _NAME.fullmatch(entry.name) is None:
        raise ValueError(f"it contains {entry.name!r}, which is not a file of a data directory")
    return StoredFile(content.read(), round(entry.mtime * 1000) if entry.name.endswith(".log") else None)


def _checksum(files: Image) -> str:
    """Return the CRC-32 of names, sizes and contents."""
    found = 0
    for name, (data, _) in files.items():
        found = crc32(data, crc32(f"{name}\n{len(data)}\n".encode(), found))
    return f"{found:08x}"
