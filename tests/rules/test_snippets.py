"""Every piece of code in README and docs does what it says; what cannot run here is listed with the reason.

Those that need Spark are in tests/spark/test_snippets.py, where Spark is.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.properties import read_properties

from .snippets import DOCUMENTS, Snippet, provide, run_python, shell, snippets

pytestmark = pytest.mark.slow

ALL = [snippet for document in DOCUMENTS for snippet in snippets(document)]

NOT_RUN = {
    "docker compose up": "it needs a Docker daemon and the network",
    "make test": "it is the run that this test is part of",
    "spark-submit --master yarn": "it needs a YARN cluster",
    "props.put": "a line of a Java program; only its syntax is checked",
    "client, err :=": "a line of a Go program; only its syntax is checked",
    "const kafka": "a line of a Node program; only its syntax is checked",
}
"""What is not run, by how it begins, and why."""
SHOWN = ("text",)
"""What is no code: output, and the usage of commands."""


def reason_not_to_run(snippet: Snippet) -> str | None:
    return next((reason for begin, reason in NOT_RUN.items() if snippet.text.startswith(begin)), None)


def of(*languages: str, spark: bool = False) -> pytest.MarkDecorator:
    chosen = [
        snippet
        for snippet in ALL
        if snippet.language in languages and reason_not_to_run(snippet) is None and snippet.needs_spark is spark
    ]
    return pytest.mark.parametrize("snippet", chosen, ids=[snippet.name for snippet in chosen])


def succeeded(done: "subprocess.CompletedProcess[str]") -> None:
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


@of("python")
def test_a_python_snippet_runs(snippet: Snippet, tmp_path: Path) -> None:
    succeeded(run_python(snippet.text, tmp_path))


@of("sh")
def test_a_shell_snippet_runs(snippet: Snippet, tmp_path: Path) -> None:
    with shell(tmp_path) as opened:
        provide(snippet.text, opened.directory)
        succeeded(opened.run(snippet.text))
        assert opened.stop_brokers() == snippet.text.count("kafkalet serve")


@of("ini")
def test_a_properties_snippet_has_properties_of_kafka(snippet: Snippet) -> None:
    config = BrokerConfig(read_properties(snippet.text))
    assert (config.unknown, config.without_effect) == ([], [])


@of("json")
def test_a_json_snippet_is_json(snippet: Snippet) -> None:
    json.loads(snippet.text)


# What is not run


@pytest.mark.parametrize("begin", NOT_RUN)
def test_what_is_not_run_is_still_there(begin: str) -> None:
    assert [snippet for snippet in ALL if snippet.text.startswith(begin)]


def test_every_snippet_is_run_or_listed() -> None:
    run = {"python", "sh", "ini", "json", *SHOWN}
    left = [snippet.name for snippet in ALL if snippet.language not in run and reason_not_to_run(snippet) is None]
    assert left == []


def not_run(language: str) -> Snippet:
    [snippet] = [snippet for snippet in ALL if snippet.language == language]
    return snippet


def needs(tool: str) -> str:
    found = shutil.which(tool)
    if found is None:
        pytest.skip(f"{tool} is not installed")
    return found


@pytest.mark.parametrize(
    "snippet",
    [each for each in ALL if each.language == "sh" and reason_not_to_run(each)],
    ids=lambda snippet: snippet.name,
)
def test_a_shell_snippet_that_is_not_run_is_at_least_shell(snippet: Snippet) -> None:
    succeeded(subprocess.run(["bash", "-n", "-c", snippet.text], capture_output=True, text=True, check=False))


def test_the_node_snippet_is_javascript(tmp_path: Path) -> None:
    (tmp_path / "snippet.js").write_text(not_run("js").text)
    command = [needs("node"), "--check", str(tmp_path / "snippet.js")]
    succeeded(subprocess.run(command, capture_output=True, text=True, check=False))


def test_the_go_snippet_is_go(tmp_path: Path) -> None:
    (tmp_path / "snippet.go").write_text(f"package snippet\n\nfunc main() {{\n{not_run('go').text}\n}}\n")
    command = [needs("gofmt"), "-e", str(tmp_path / "snippet.go")]
    succeeded(subprocess.run(command, capture_output=True, text=True, check=False))


def test_the_java_snippet_is_java(tmp_path: Path) -> None:
    """Its names are unknown here; any other complaint is one about syntax."""
    (tmp_path / "Snippet.java").write_text(f"class Snippet {{ void run() {{\n{not_run('java').text}\n}} }}\n")
    command = [needs("javac"), "-XDrawDiagnostics", "-d", str(tmp_path), str(tmp_path / "Snippet.java")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    complaints = re.findall(r"compiler\.err\.[\w.]+", done.stderr)
    assert complaints
    assert [each for each in complaints if not each.startswith("compiler.err.cant.resolve")] == []


# The tests of the tests


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("assert 1 == 1", True),
        ("assert 1 == 2", False),
        ("def test_it(kafka):\n    assert kafka.port", True),
        ("def test_it(kafka):\n    assert not kafka.port", False),
    ],
)
def test_a_python_snippet_that_fails_is_noticed(tmp_path: Path, text: str, runs: bool) -> None:
    assert (run_python(text, tmp_path).returncode == 0) is runs


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("kafkalet serve --topic t\ntrue", True),
        ("kafkalet serve --topik t", False),
        ("python3 -m kafkalet serve --set num.partitions=0", False),
        ("pip install kafkalet", True),
        ("pip install 'kafkalet[nothing]'", False),
        ("pip install no-such-package-anywhere", False),
        ("kafkalet serve &", True),
    ],
)
def test_a_shell_snippet_that_fails_is_noticed(tmp_path: Path, text: str, runs: bool) -> None:
    with shell(tmp_path) as opened:
        assert (opened.run(text).returncode == 0) is runs


def test_snippets_are_found_with_their_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.rules.snippets.ROOT", tmp_path)
    (tmp_path / "a.md").write_text("one\n\n```sh\nls\n```\ntext\n```python\nx = 1\n\ny = 2\n```\n")
    found = snippets(tmp_path / "a.md")
    assert found == [Snippet("a.md", 3, "sh", "ls\n"), Snippet("a.md", 7, "python", "x = 1\n\ny = 2\n")]
