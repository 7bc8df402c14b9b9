"""Check the wheels, kafkalet.pyz and the source distributions: their contents, and that kafkalet can run a broker.

    python -m tests.rules.distributions dist        (make dist builds them first)

The wheel of kafkalet is installed without extras into an empty virtual environment and started from an empty directory,
so that files missing from it cannot be found in this clone. A client in the current environment then produces and
fetches a record.
"""

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from kafkalet.version import VERSION
from tests.source import CONFORMANCE, ROOT, SOURCE, SPARK
from tools.single_file import NAME

READY = re.compile(r"kafkalet ready bootstrap=(\S+)\n")
LEFT_OUT = {ROOT: {".ci"}, ROOT / "conformance": set(), ROOT / "spark": {"tests"}}
"""The directories of each folder that are not part of its source distribution."""


def check_wheels(directory: Path) -> Path:
    """Check that the wheels have their modules and data, and nothing else. Return that of kafkalet.

    None has the scenarios that produced the recordings, or the recorder.
    """
    [wheel] = directory.glob("kafkalet-*.whl")
    [conformance] = directory.glob("kafkalet_conformance-*.whl")
    [spark] = directory.glob("kafkalet_spark-*.whl")
    page = {path.relative_to(ROOT).as_posix() for path in (ROOT / "kafkalet" / "control" / "page").iterdir()}
    check_contents(wheel, SOURCE, page | {"kafkalet/aio.pyi", "kafkalet/control/openapi.json"})
    recordings = {f"kafkalet_conformance/recordings/{path.name}" for path in (CONFORMANCE / "recordings").iterdir()}
    check_contents(conformance, CONFORMANCE, recordings | {"kafkalet_conformance/reports/page.html"})
    check_contents(spark, SPARK, set())
    return wheel


def check_contents(wheel: Path, package: Path, data: set[str]) -> None:
    """Check that a wheel has every module of a package, its data, the type marker and the license, and nothing else."""
    names = zipfile.ZipFile(wheel).namelist()
    metadata = f"{package.name}-{VERSION}.dist-info"
    modules = {path.relative_to(package.parent).as_posix() for path in package.rglob("*.py")}
    expected = modules | data | {f"{package.name}/py.typed", f"{metadata}/licenses/LICENSE"}
    packaged = {name for name in names if not name.startswith(metadata)}
    assert expected <= set(names), f"not in {wheel.name}: {sorted(expected - set(names))}"
    assert packaged <= expected, f"should not be in {wheel.name}: {sorted(packaged - expected)}"


def check_source(archive: Path, folder: Path = ROOT) -> None:
    """Check that a source distribution contains every file of a folder that git tracks.

    So the tests can run from that of kafkalet, which also has the folders of the others.
    """
    done = subprocess.run(["git", "ls-files"], cwd=folder, capture_output=True, text=True, check=True)
    tracked = {name for name in done.stdout.split("\n") if name and name.split("/")[0] not in LEFT_OUT[folder]}
    with tarfile.open(archive) as opened:
        packaged = {name.partition("/")[2] for name in opened.getnames()}
    assert tracked <= packaged, f"not in {archive.name}: {sorted(tracked - packaged)}"
    assert not [name for name in packaged if "__pycache__" in name], f"{archive.name} has compiled modules"


def check_serving(wheel: Path, directory: Path) -> None:
    """Install the wheel into an empty environment, start a broker, and produce and fetch a record."""
    venv.create(directory / "bare", with_pip=True, symlinks=os.name != "nt")
    scripts = directory / "bare" / ("Scripts" if os.name == "nt" else "bin")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    pip = [scripts / "python", "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--no-index", wheel], check=True, env=environment)
    installed = subprocess.run([*pip, "list", "--format=freeze"], check=True, env=environment, capture_output=True)
    packages = {line.partition("=")[0] for line in installed.stdout.decode().splitlines()} - {"pip", "setuptools"}
    assert packages == {"kafkalet"}, f"the wheel requires {packages - {'kafkalet'}}"
    _check_round_trip([scripts / "kafkalet"], directory, environment)


def check_single_file(file: Path, directory: Path) -> None:
    """Start a broker from the file alone, and produce and fetch a record."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    _check_round_trip([Path(sys.executable), "-I", file], directory, environment)


def _check_round_trip(program: Sequence[str | Path], directory: Path, environment: Mapping[str, str]) -> None:
    command = [*program, "serve", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=directory, env=environment) as process:
        assert process.stdout is not None
        try:
            ready = READY.fullmatch(process.stdout.readline())
            assert ready, "the broker printed no ready line"
            assert round_trip(ready[1]) == b"value"
        finally:
            process.terminate()
    if os.name == "posix":
        assert process.returncode == 0, f"the broker exited with status {process.returncode}"


def round_trip(bootstrap: str) -> bytes | None:
    """Produce a record, fetch it, and return its value."""
    from confluent_kafka import Consumer, Producer, TopicPartition

    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce("topic", b"value")
    assert producer.flush(30) == 0, "the record was not acknowledged"
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "group"})
    try:
        consumer.assign([TopicPartition("topic", 0, 0)])
        message = consumer.poll(30)
        assert message is not None, "the record was not fetched"
        return message.value()
    finally:
        consumer.close()


def main(directory: Path) -> None:
    wheel = check_wheels(directory)
    [archive] = directory.glob("kafkalet-*.tar.gz")
    [conformance] = directory.glob("kafkalet_conformance-*.tar.gz")
    [spark] = directory.glob("kafkalet_spark-*.tar.gz")
    check_source(archive)
    check_source(conformance, ROOT / "conformance")
    check_source(spark, ROOT / "spark")
    with tempfile.TemporaryDirectory() as temporary:
        check_serving(wheel.resolve(), Path(temporary))
    with tempfile.TemporaryDirectory() as temporary:
        check_single_file((directory / NAME).resolve(), Path(temporary))
    print(f"{wheel.name} and {NAME} serve from a bare interpreter; {archive.name} is complete")
    print(f"{conformance.name} and {spark.name} are complete, and so are their wheels")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
