"""The calls of the operating system, and that the storage of a broker makes no others."""

import ast
from pathlib import Path

import kafkalet.storage
from kafkalet.storage.file_system import DISK, READ, READ_AND_WRITE

FILE_CALLS = {
    "chmod fsync ftruncate link listdir makedirs mkdir open pread pwrite read remove removedirs rename replace rmdir",
    "scandir stat symlink truncate unlink utime write",
}


def test_written_bytes_are_read_back(tmp_path: Path) -> None:
    fd = DISK.open(str(tmp_path / "a"), READ_AND_WRITE)
    assert DISK.write(fd, b"abcdef", 3) == 6
    assert DISK.read(fd, 3, 5) == b"cde"
    assert DISK.size(fd) == 9
    DISK.truncate(fd, 4)
    assert DISK.read(fd, 10, 0) == b"\0\0\0a"
    DISK.close(fd)


def test_reading_does_not_create_a_file(tmp_path: Path) -> None:
    try:
        DISK.open(str(tmp_path / "a"), READ)
    except FileNotFoundError:
        assert DISK.names(str(tmp_path)) == []


def test_only_this_module_calls_the_operating_system_for_files() -> None:
    names = {name for line in FILE_CALLS for name in line.split()}
    calls = []
    for path in sorted(Path(kafkalet.storage.__file__).parent.rglob("*.py")):
        if path.name in ("file_system.py", "image.py"):  # an image is written before the broker that it is for exists
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
                if node.attr in names:
                    calls.append(f"{path.name}:{node.lineno} os.{node.attr}")
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open":
                calls.append(f"{path.name}:{node.lineno} open")
    assert calls == []
