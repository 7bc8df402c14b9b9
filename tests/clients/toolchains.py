"""Programs in other languages, built in a temporary directory when a test first needs them.

Maven, Go and npm download the packages into their usual caches. If a toolchain is missing, its tests are skipped with
the command that installs it.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
FETCHING_S = 600
RUNNING_S = 180


def tool(command: str, how_to_get_it: str) -> str:
    """Return the path of a program; if it is missing, skip the test with instructions for installing it."""
    found = shutil.which(command)
    if found is None:
        pytest.skip(f"{command} is not installed: {how_to_get_it}")
    return found


def run(*command: str | Path, limit_s: int = FETCHING_S, **more: Any) -> str:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=limit_s, check=False, **more
    )
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


class Workshop:
    """Builds each program once, from the folders `java`, `go`, `node` and `kcat` in `sources`."""

    def __init__(self, folder: Path, sources: Path = HERE) -> None:
        self._folder = folder
        self._sources = sources

    def java(self, program: str, release: str, *, library: str = "kafka-clients", path: str = "") -> list[str | Path]:
        """Return the command of a program in `java/`, with a release of a Kafka library; `path` adds source folders."""
        javac = tool("javac", "apt-get install default-jdk-headless")
        java = tool("java", "apt-get install default-jre-headless")
        jars = self._jars(library, release)
        classes = self._folder / f"{program}-{release}"
        if not classes.exists():
            sources = self._sources / "java"
            where = os.pathsep.join(str(sources / part) for part in ("", *path.split()))
            source = next(sources.rglob(f"{program}.java"))
            run(javac, "-nowarn", "-cp", f"{jars}/*", "-sourcepath", where, "-d", classes, source)
        return [java, "-cp", f"{jars}/*{os.pathsep}{classes}", program]

    def _jars(self, library: str, release: str) -> Path:
        maven = tool("mvn", "apt-get install maven")
        jars = self._folder / f"{library}-{release}"
        if not jars.exists():
            wanted = [f"-DoutputDirectory={jars}", f"-Dkafka.library={library}", f"-Dkafka.version={release}"]
            run(maven, "-q", "-B", "-f", self._sources / "java" / "pom.xml", "dependency:copy-dependencies", *wanted)
        return jars

    def go(self, program: str) -> list[str | Path]:
        """Return the command of a program in `go/`."""
        go = tool("go", "https://go.dev/dl, or apt-get install golang-go")
        folder = self._folder / "go"
        if not folder.exists():
            shutil.copytree(self._sources / "go", folder)
            run(go, "mod", "tidy", cwd=folder)
        if not (folder / "bin" / program).exists():
            run(go, "build", "-o", f"bin/{program}", f"./{program}", cwd=folder)
        return [folder / "bin" / program]

    def node(self, program: str) -> list[str | Path]:
        """Return the command of a program in `node/`, with its packages installed."""
        node = tool("node", "https://nodejs.org, or apt-get install nodejs")
        npm = tool("npm", "apt-get install npm")
        folder = self._folder / "node"
        if not folder.exists():
            shutil.copytree(self._sources / "node", folder)
            run(npm, "install", "--no-package-lock", "--no-audit", "--no-fund", cwd=folder)
        return [node, folder / program]

    def kcat(self, program: str) -> list[str | Path]:
        """Return the command of a script in `kcat/`, which takes the path of kcat as its first argument."""
        return ["sh", self._sources / "kcat" / program, tool("kcat", "apt-get install kcat")]
