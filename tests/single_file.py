"""kafkalet.pyz, made from the modules and the data of this clone."""

import zipfile
from pathlib import Path

from tests.source import CONFORMANCE, SOURCE
from tools.single_file import NAME, make


def write(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "kafkalet.whl", "w") as wheel:
        for package in (SOURCE, CONFORMANCE):
            for path in package.rglob("*"):
                if path.is_file() and "__pycache__" not in path.parts:
                    wheel.write(path, path.relative_to(package.parent))
    make([folder / "kafkalet.whl"], folder / NAME)
    return folder / NAME
