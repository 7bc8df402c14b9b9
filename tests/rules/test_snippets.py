"""The code snippets in README and docs work; those that cannot run here are listed with a reason.

Snippets that need Spark are tested in spark/tests/spark/test_snippets.py.
"""

import json
import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.properties import read_properties

from .snippets import DOCUMENTS, Snippet, create_files, has_tests, run_pytest, run_scripts, shell, snippets

pytestmark = pytest.mark.slow

ALL = [snippet for document in DOCUMENTS for snippet in snippets(document)]

NOT_RUN = {
    "docker compose up": "it needs a Docker daemon and the network",
    "docker build": "it needs a Docker daemon and the network",
    "make test": "it takes minutes",
    "make bench": "it takes minutes",
    "make kafka-tests": "it takes hours",
    "spark-submit --master yarn": "it needs a YARN cluster",
    "kafkalet serve &\nkcat": "it needs kcat, which is not a Python package",
    "mvn -f clients/java": "tests/clients/test_toolchain_examples.py runs it",
    "go mod tidy": "tests/clients/test_toolchain_examples.py runs it",
    "npm install": "tests/clients/test_toolchain_examples.py runs it",
    "kafkalet conform client -- python3 -m": "it takes minutes",
    "new KafkaContainer(": "a line of a Java program; only its syntax is checked",
    "Map<String, Object> config": "lines of a Java program; only their syntax is checked",
    "client, err :=": "lines of a Go program; only their syntax is checked",
    "const kafka": "lines of a Node program; only their syntax is checked",
    "let producer": "lines of a Rust program; only their syntax is checked",
}
"""The first words of snippets that are not run, and the reason."""
SHOWN = ("text", "properties", "py")
"""Languages of code blocks that are not run: command output and usage, properties of clients, and signatures."""


def reason_not_to_run(snippet: Snippet) -> str | None:
    if snippet.file == "docs/tutorial.md":
        return "tests/rules/test_tutorial.py runs its snippets in order"
    if snippet.origin:
        return "tests/clients/test_toolchain_examples.py runs it"
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


PYTHON = [snippet for snippet in ALL if snippet.language == "python" and not snippet.needs_spark]


def pages(chosen: list[Snippet]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("page", sorted({snippet.file for snippet in chosen}))


def by_line(chosen: list[Snippet], page: str) -> dict[str, str]:
    return {f"line_{snippet.line}": snippet.text for snippet in chosen if snippet.file == page}


# The snippets of a page run in one process, because starting it takes longer than most of them.
SCRIPTS = [snippet for snippet in PYTHON if not has_tests(snippet.text)]
TESTS = [snippet for snippet in PYTHON if has_tests(snippet.text)]


@pages(SCRIPTS)
def test_scripts_of_a_page_run(page: str, tmp_path: Path) -> None:
    succeeded(run_scripts(by_line(SCRIPTS, page), tmp_path))


@pages(TESTS)
def test_tests_of_a_page_pass(page: str, tmp_path: Path) -> None:
    tests = {f"test_{name}": text for name, text in by_line(TESTS, page).items()}
    succeeded(run_pytest(tests, tmp_path))


@of("sh")
def test_shell_snippet_runs(snippet: Snippet, tmp_path: Path) -> None:
    with shell(tmp_path) as opened:
        create_files(snippet.text, opened.directory)
        succeeded(opened.run(snippet.text))
        stopped = opened.stop_brokers()
        assert stopped == snippet.text.count("kafkalet serve") or "kill" in snippet.text


@of("ini")
def test_properties_snippet_has_known_and_effective_properties(snippet: Snippet) -> None:
    config = BrokerConfig(read_properties(snippet.text))
    assert (config.unknown, config.without_effect) == ([], [])


@of("json")
def test_json_snippet_is_valid(snippet: Snippet) -> None:
    json.loads(snippet.text)


# Snippets that are not run


@pytest.mark.parametrize("begin", NOT_RUN)
def test_snippet_listed_as_not_run_exists(begin: str) -> None:
    assert [snippet for snippet in ALL if snippet.text.startswith(begin)]


def test_every_snippet_is_run_or_listed() -> None:
    run = {"python", "sh", "ini", "json", "yaml", *SHOWN}
    left = [snippet.name for snippet in ALL if snippet.language not in run and reason_not_to_run(snippet) is None]
    assert left == []


def not_run(*languages: str) -> pytest.MarkDecorator:
    chosen = [each for each in ALL if each.language in languages and reason_not_to_run(each) and not each.origin]
    assert chosen
    return pytest.mark.parametrize("snippet", chosen, ids=[snippet.name for snippet in chosen])


def test_texts_of_files_belong_to_a_client_or_an_example_that_is_run() -> None:
    origins = {each.origin.split(":")[0] for each in ALL if each.origin}
    assert origins
    assert [name for name in origins if not re.match(r"(clients|examples)/(java|go|node)/", name)] == []


def needs(tool: str) -> str:
    found = shutil.which(tool)
    if found is None:
        pytest.skip(f"{tool} is not installed")
    return found


@not_run("sh")
def test_shell_snippet_not_run_has_valid_syntax(snippet: Snippet) -> None:
    succeeded(subprocess.run(["bash", "-n", "-c", snippet.text], capture_output=True, text=True, check=False))


@not_run("js")
def test_node_snippet_has_valid_syntax(snippet: Snippet, tmp_path: Path) -> None:
    (tmp_path / "snippet.mjs").write_text(snippet.text)
    command = [needs("node"), "--check", str(tmp_path / "snippet.mjs")]
    succeeded(subprocess.run(command, capture_output=True, text=True, check=False))


@not_run("go")
def test_go_snippet_has_valid_syntax(snippet: Snippet, tmp_path: Path) -> None:
    (tmp_path / "snippet.go").write_text(f"package snippet\n\nfunc main() {{\n{snippet.text}\n}}\n")
    command = [needs("gofmt"), "-e", str(tmp_path / "snippet.go")]
    succeeded(subprocess.run(command, capture_output=True, text=True, check=False))


@not_run("rust")
def test_rust_snippet_has_valid_syntax(snippet: Snippet, tmp_path: Path) -> None:
    (tmp_path / "snippet.rs").write_text(f"async fn run() {{\n{snippet.text}\n}}\n")
    command = [needs("rustfmt"), "--edition", "2021", "--emit", "stdout", str(tmp_path / "snippet.rs")]
    succeeded(subprocess.run(command, capture_output=True, text=True, check=False))


@not_run("java")
def test_java_snippet_has_valid_syntax(snippet: Snippet, tmp_path: Path) -> None:
    """Names are unresolved here, so the only compiler errors allowed are `cant.resolve`."""
    (tmp_path / "Snippet.java").write_text(f"class Snippet {{ void run() {{\n{snippet.text}\n}} }}\n")
    command = [needs("javac"), "-XDrawDiagnostics", "-d", str(tmp_path), str(tmp_path / "Snippet.java")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    errors = re.findall(r"compiler\.err\.[\w.]+", done.stderr)
    assert errors
    assert [each for each in errors if not each.startswith("compiler.err.cant.resolve")] == []


# CI recipes


def steps(snippet: Snippet) -> list[str]:
    """The shell commands of a recipe: `run` of GitHub Actions, `script` and `before_script` of GitLab CI."""
    block = re.compile(r"run: \|\n((?: {10}.*\n)+)")
    lines = re.compile(r"^ +(?:- )?run: (?!\|)(.+)$|^ {4}- (?!name:|uses:|run:)(.+)$", re.MULTILINE)
    commands = [first or second for first, second in lines.findall(block.sub("", snippet.text))]
    return [*commands, *(textwrap.dedent(found) for found in block.findall(snippet.text))]


@of("yaml")
def test_recipe_steps_have_valid_shell_syntax(snippet: Snippet) -> None:
    assert "\t" not in snippet.text
    commands = steps(snippet)
    assert commands
    for command in commands:
        succeeded(subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True, check=False))


def test_step_that_starts_a_broker_waits_until_it_is_ready(tmp_path: Path) -> None:
    [step] = [step for snippet in ALL if snippet.language == "yaml" for step in steps(snippet) if "serve" in step]
    with shell(tmp_path) as opened:
        succeeded(opened.run(step))
        assert "kafkalet ready bootstrap=" in (opened.directory / "ready.txt").read_text()
        assert opened.stop_brokers() == 1


# Tests of the snippet runner

_TEST_CASE = """
import unittest

from kafkalet.testing import KafkaTestCase

class TestIt(KafkaTestCase):
    def test_it(self):
"""


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("assert 1 == 1", True),
        ("assert 1 == 2", False),
        ("def test_it(kafka):\n    assert kafka.port", True),
        ("def test_it(kafka):\n    assert not kafka.port", False),
        (f"{_TEST_CASE}        self.assertTrue(self.kafka.port)\n\nunittest.main()", True),
        (f"{_TEST_CASE}        self.assertFalse(self.kafka.port)\n\nunittest.main()", False),
    ],
)
def test_failing_python_snippet_is_reported(tmp_path: Path, text: str, runs: bool) -> None:
    run = run_pytest if has_tests(text) else run_scripts
    done = run({"test_snippet": text}, tmp_path)
    assert (done.returncode == 0) is runs


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("kafkalet serve --topic t\ntrue", True),
        ("kafkalet serve --topik t", False),
        ("python3 -m kafkalet serve --set num.partitions=0", False),
        ("pip install .", True),
        ("pip install . ./spark", True),
        ("pip install '.[nothing]'", False),
        ("pip install kafkalet", False),
        ("pip install no-such-package-anywhere", False),
        ("kafkalet serve &", True),
    ],
)
def test_failing_shell_snippet_is_reported(tmp_path: Path, text: str, runs: bool) -> None:
    with shell(tmp_path) as opened:
        assert (opened.run(text).returncode == 0) is runs


def test_snippets_are_found_with_their_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.rules.snippets.ROOT", tmp_path)
    (tmp_path / "a.md").write_text(
        "one\n\n```sh\nls\n```\n<!-- generated: file a.go:b -->\n```go\nx = 1\n\ny = 2\n```\n"
    )
    found = snippets(tmp_path / "a.md")
    assert found == [Snippet("a.md", 3, "sh", "ls\n"), Snippet("a.md", 7, "go", "x = 1\n\ny = 2\n", "a.go:b")]
