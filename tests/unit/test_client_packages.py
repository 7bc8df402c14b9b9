"""The packages of the clients for Java, Go and Node, with kafkalet.pyz."""

import tarfile
from pathlib import Path

import pytest

from tools.client_packages import write


@pytest.mark.parametrize(
    ("language", "bundled", "source"),
    [
        ("java", "src/main/resources/kafkalet/kafkalet.pyz", "src/main/java/kafkalet/Command.java"),
        ("go", "kafkalet.pyz", "api/api.go"),
        ("node", "kafkalet.pyz", "command.mjs"),
    ],
)
def test_package_has_the_client_the_single_file_and_the_license(
    language: str, bundled: str, source: str, tmp_path: Path
) -> None:
    single_file = tmp_path / "kafkalet.pyz"
    single_file.write_bytes(b"zip")
    with tarfile.open(write(language, single_file, tmp_path)) as package:
        names = {name.removeprefix(f"kafkalet-{language}/") for name in package.getnames()}
        content = package.extractfile(f"kafkalet-{language}/{bundled}")
        assert content is not None
        assert content.read() == b"zip"
    assert {bundled, source, "LICENSE"} <= names
    assert not [name for name in names if "test" in name.lower() or name == "tsconfig.json"]


def test_program_of_the_node_package_is_executable(tmp_path: Path) -> None:
    single_file = tmp_path / "kafkalet.pyz"
    single_file.touch()
    with tarfile.open(write("node", single_file, tmp_path)) as package:
        assert package.getmember("kafkalet-node/bin.mjs").mode & 0o111 == 0o111
