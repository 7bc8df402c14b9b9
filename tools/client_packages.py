"""Write the clients for Java, Go and Node as packages that contain kafkalet.pyz.

    python -m tools.client_packages dist        (make dist writes kafkalet.pyz first)

Test suites that use them need Python 3.11 or newer, but no installed kafkalet. Each package is a compressed tar file of
the folder of the client without its tests. npm installs that of Node as it is, so npm is not needed to write it.
"""

import re
import sys
import tarfile
from pathlib import Path

from kafkalet.version import VERSION
from tools.single_file import NAME

ROOT = Path(__file__).parent.parent
PLACES = {"java": f"src/main/resources/kafkalet/{NAME}", "go": NAME, "node": NAME}
"""The clients, and where each looks for the bundled file."""
LEFT_OUT = re.compile(
    r"src/test/|.*_test\.go$|.*\.test\.mjs$|types\.mts$|tsconfig\.json$"  # tests
    r"|target/|node_modules/|package-lock\.json$|go\.sum$|.*kafkalet\.pyz$"  # files that git ignores
)


def write(language: str, single_file: Path, directory: Path) -> Path:
    """Write the package of a client, and return its path."""
    folder = ROOT / "clients" / language
    sources = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    files = {name: path for name, path in sources.items() if not LEFT_OUT.match(name)}
    files |= {"LICENSE": ROOT / "LICENSE", PLACES[language]: single_file}
    package = directory / f"kafkalet-{language}-{VERSION}.tgz"
    with tarfile.open(package, "w:gz") as archive:
        for name, path in sorted(files.items()):
            archive.add(path, f"kafkalet-{language}/{name}", filter=_without_owner)
    return package


def _without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    return member.replace(uid=0, gid=0, uname="", gname="", deep=False)


def main(directory: Path) -> None:
    for language in PLACES:
        write(language, directory / NAME, directory)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
