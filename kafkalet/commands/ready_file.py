"""`--ready-file FILE`: a file that exists while the broker is ready.

    bootstrap=127.0.0.1:9092
    EXTERNAL=127.0.0.1:9094              each further listener
    ca=/tmp/kafkalet-clients-x/ca.crt    only with --tls
    control=http://127.0.0.1:9093        only with --control
    pid=4711

The file is written atomically. The file of an earlier broker that was killed is removed at startup, so that a reader
never takes it for the file of the new broker.
"""

import contextlib
import os
from collections.abc import Mapping

from kafkalet.storage.files import replace_file

from .command_line import Failure

_FIRST = "bootstrap="


class ReadyFile:
    """The file of this process.

    Raises Failure if the file cannot be written, or if another program's file has this name.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            with open(path, "rb") as file:
                start = file.read(len(_FIRST))
            if start not in (b"", _FIRST.encode()):
                raise Failure(f"--ready-file {path}: the file exists, but it is not a ready file; choose another name")
            os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise Failure(f"--ready-file {path}: {error.strerror}") from error

    def write(
        self, bootstrap_servers: str, listeners: Mapping[str, str] | None = None, control_url: str | None = None
    ) -> None:
        """Write the file. `listeners` are the addresses of the further listeners by name."""
        further = "".join(f"{name}={address}\n" for name, address in (listeners or {}).items())
        control = "" if control_url is None else f"control={control_url}\n"
        text = f"{_FIRST}{bootstrap_servers}\n{further}{control}pid={os.getpid()}\n"
        try:
            replace_file(self._path, text.encode(), durable=False)
        except OSError as error:
            raise Failure(f"--ready-file {self._path}: {error.strerror}") from error

    def remove(self) -> None:
        remove_of(self._path, os.getpid())


def remove_of(path: str, process_id: int) -> None:
    """Remove the file if the process wrote it. The file of a newer broker is not touched."""
    with contextlib.suppress(OSError):
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
        if f"pid={process_id}" in lines[1:]:
            os.unlink(path)
