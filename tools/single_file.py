"""Make `kafkalet.pyz` from the wheels of kafkalet and the conformance kit.

It is one file to download, for machines that have Python but no pip.

    python -m tools.single_file dist        (make dist builds the wheels first)

    python3 kafkalet.pyz serve

The file has the modules and data of the wheels, compressed. Python runs it as described in PEP 441.
"""

import sys
import zipapp
import zipfile
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

NAME = "kafkalet.pyz"
MAIN = """import sys

if sys.version_info < (3, 11):
    sys.exit("kafkalet needs Python 3.11 or newer; this is Python %d.%d" % sys.version_info[:2])

from kafkalet.cli import main

sys.exit(main())
"""
"""The first module that runs. Old versions of Python can compile it, too, and say what is missing."""


def make(wheels: Iterable[Path], target: Path) -> None:
    """Write the packages in `wheels` as an executable zip file."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as opened:
                opened.extractall(folder, [name for name in opened.namelist() if ".dist-info/" not in name])
        (folder / "__main__.py").write_text(MAIN)
        zipapp.create_archive(folder, target, "/usr/bin/env python3", compressed=True)


def main(directory: Path) -> None:
    [wheel] = directory.glob("kafkalet-*.whl")
    [conformance] = directory.glob("kafkalet_conformance-*.whl")
    make([wheel, conformance], directory / NAME)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
