"""Compiles the sources in `java/` and runs tests in a JVM. Maven downloads the jars into its usual cache."""

import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
AGAIN = 3
"""The exit status of the runner if a test did not end."""
BOTH = ("Internals.java", "MiniKdc.java", "Runner.java")
"""The sources that are used with Kafka's own broker, too."""
JVM = ["-Xmx700m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]


class Jvm:
    """Runs tests on kafkalet or on Kafka's own broker, with a time limit in seconds for each test."""

    def __init__(self, home: Path, test_s: int, journal: bool) -> None:
        self.home = home
        self.test_s = test_s
        self.journal = journal
        self.jars = ""

    def prepare(self) -> None:
        """Fetch the jars and compile the sources, if they have changed."""
        (self.home / "logs").mkdir(parents=True, exist_ok=True)
        path, stamp = self.home / "classpath", self.home / "stamp"
        sources = sorted((HERE / "java").rglob("*.java"))
        content = "".join(file.read_text(encoding="utf-8") for file in (HERE / "pom.xml", *sources))
        if stamp.exists() and stamp.read_text(encoding="utf-8") == content:
            self.jars = path.read_text(encoding="utf-8")
            return
        shutil.rmtree(self.home / "classes", ignore_errors=True)
        _call("mvn", "-q", "-B", "-f", HERE / "pom.xml", "dependency:build-classpath", f"-Dmdep.outputFile={path}")
        self.jars = path.read_text(encoding="utf-8")
        both = [source for source in sources if source.name in BOTH]
        self._compile("both", both, self.jars)
        self._compile("kafkalet", [source for source in sources if source not in both], self._path("both"))
        for jar in self.jars.split(os.pathsep):
            if Path(jar).name.startswith("connect-runtime-") and jar.endswith("-test.jar"):
                _unpack(Path(jar), "test-plugins/", self.home / "classes" / "both")
        for name, extension in (("both", "Runner$SkipRepeated"), ("kafkalet", "WithoutController")):
            services = self.home / "classes" / name / "META-INF" / "services"
            services.mkdir(parents=True)
            (services / "org.junit.jupiter.api.extension.Extension").write_text(f"kafkalet.{extension}\n")
        stamp.write_text(content, encoding="utf-8")

    def _compile(self, name: str, sources: list[Path], path: str) -> None:
        _call("javac", "-nowarn", "-cp", path, "-d", self.home / "classes" / name, *sources)

    def _path(self, *names: str) -> str:
        return os.pathsep.join([*(str(self.home / "classes" / name) for name in names), self.jars])

    def run(self, broker: str, results: Path, selectors: Iterable[str], seconds: float) -> bool:
        """Run tests and add their results to a file. Return whether all ended within some seconds."""
        serve = [sys.executable, "-m", "kafkalet", "serve", "--kafka-version", "4.3"]
        serve += ["--set", "kafkalet.closing.fetch.wait=true"]  # as Kafka; see docs/differences.md
        command = ["java", *JVM, f"-Dkafkalet.command={' '.join(serve)}", f"-Dkafkalet.logs={self.home / 'logs'}"]
        command += [f"-Dlog4j2.configurationFile={HERE / 'log4j2.xml'}"]
        command += ["-Dkafkalet.journal=true"] if self.journal else []
        names = ("kafkalet", "both") if broker == "kafkalet" else ("both",)
        command += ["-cp", self._path(*names), "kafkalet.Runner", str(results), str(self.test_s), *selectors]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        console = self.home / "console.log"
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            with console.open("a", encoding="utf-8") as out:
                try:
                    done = subprocess.run(command, env=environment, stdout=out, stderr=out, timeout=left, check=False)
                except subprocess.TimeoutExpired:
                    return False
            if done.returncode != AGAIN:
                done.check_returncode()
                return True
        return False


def _unpack(jar: Path, folder: str, to: Path) -> None:
    """Unpack a folder of a jar, for tests that do not look for their resources in jars."""
    with zipfile.ZipFile(jar) as file:
        file.extractall(to, [name for name in file.namelist() if name.startswith(folder)])


def _call(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True)
