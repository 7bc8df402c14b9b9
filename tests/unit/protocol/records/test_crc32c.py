import os
import random
import subprocess
import sys
from pathlib import Path

import crc32c as package
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.records import crc32c as ours

CHECKED_SIZES = [
    *range(200),
    858,
    859,
    860,
    3002,
    4095,
    4096,
    11278,
    39951,
    39952,
    73348,
    73349,
    73350,
    218520,
    1 << 20,
]


def run_python(program: str, *directories: Path) -> str:
    """Run a program with these directories first on its path, and return its output."""
    path = os.pathsep.join([*map(str, directories), str(Path(__file__).parents[4])])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


@pytest.mark.parametrize("function", [ours.crc32c, ours.crc32c_pure, ours.crc32c_table])
def test_check_value_of_the_standard(function: ours.Checksum) -> None:
    assert function(b"123456789") == 0xE3069283


def test_folding_agrees_with_the_package_at_every_width_of_its_chain() -> None:
    for size in CHECKED_SIZES:
        data = random.Random(size).randbytes(size)
        assert ours.crc32c_pure(data) == package.crc32c(data), size


@given(st.binary(max_size=2000), st.integers(0, 0xFFFFFFFF))
def test_all_implementations_agree_and_can_continue(data: bytes, value: int) -> None:
    expected = package.crc32c(data, value)
    assert ours.crc32c_pure(data, value) == ours.crc32c_table(data, value) == ours.crc32c(data, value) == expected


@pytest.mark.parametrize("tail_size", [0, 1, 255, 256, 65536, (1 << 24) + 5])
def test_patched_checksum_equals_a_new_one(tail_size: int) -> None:
    chance = random.Random(tail_size)
    head, old, new, tail = (chance.randbytes(size) for size in (30, 22, 22, tail_size))
    crc = ours.crc32c(head + old + tail)
    assert ours.crc32c_patch(crc, old, new, tail_size) == ours.crc32c(head + new + tail)


@pytest.mark.parametrize("size", [20, 500, 5000, 200_000])
def test_all_buffer_types_are_accepted(size: int) -> None:
    data = random.Random(size).randbytes(size)
    expected = package.crc32c(data)
    for buffer in (bytearray(data), memoryview(data), memoryview(bytearray(data))):
        assert ours.crc32c_pure(buffer) == ours.crc32c(buffer) == expected


def test_folding_is_used_without_the_package() -> None:
    program = (
        "import sys; from importlib.machinery import PathFinder\n"
        "find = PathFinder.find_spec\n"
        "PathFinder.find_spec = classmethod(lambda cls, name, *rest: None if name == 'crc32c' else find(name, *rest))\n"
        "from kafkalet.protocol.records.crc32c import BACKEND, crc32c\n"
        "print(BACKEND, crc32c(b'123456789') == 0xE3069283)"
    )
    assert run_python(program) == "pure True\n"


def test_package_with_other_layout_is_imported(tmp_path: Path) -> None:
    package_directory = tmp_path / "crc32c"
    package_directory.mkdir()
    (package_directory / "__init__.py").write_text("def crc32c(data, value=0, /): return 0xE3069283\n")
    program = "from kafkalet.protocol.records.crc32c import BACKEND, crc32c; print(BACKEND, crc32c.__module__)"
    assert run_python(program, tmp_path) == "crc32c crc32c\n"


@pytest.mark.parametrize("content", ["", "def crc32c(data, value=0, /): return 0\n", "raise ImportError\n"])
def test_broken_package_is_ignored(tmp_path: Path, content: str) -> None:
    (tmp_path / "crc32c.py").write_text(content)
    program = "from kafkalet.protocol.records.crc32c import BACKEND; print(BACKEND)"
    assert run_python(program, tmp_path) == "pure\n"


def test_extension_is_loaded_without_importing_the_package() -> None:
    program = (
        "import sys; from kafkalet.protocol.records.crc32c import BACKEND; print(BACKEND, 'crc32c' in sys.modules)"
    )
    assert run_python(program) == "crc32c False\n"
