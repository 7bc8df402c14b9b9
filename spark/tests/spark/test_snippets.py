"""The code in README and docs that needs Spark, run in one session, each document from beginning to end.

Spark's JVM is shared with other tests and does not run in the directory of the snippets, so paths are made absolute.
"""

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafkalet_spark import jobs
from tests.rules.snippets import DOCUMENTS, FLIGHTS, Shell, create_files, shell, snippets
from tests.rules.test_snippets import reason_not_to_run
from tests.source import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATHS = ("flights.csv", "logs", "dump", "report")
"""Files and directories in the commands."""
BY_DOCUMENT = {
    document.relative_to(ROOT).as_posix(): found
    for document in DOCUMENTS
    if (found := [each for each in snippets(document) if each.needs_spark and reason_not_to_run(each) is None])
}


def test_all_documents_about_spark_are_covered() -> None:
    assert list(BY_DOCUMENT) == ["spark/README.md", "docs/pipeline.md"]


@pytest.mark.parametrize("document", BY_DOCUMENT)
def test_snippets_with_spark_run_in_order(
    document: str, spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: dict[str, Any] = {}
    with shell(tmp_path) as opened:
        monkeypatch.chdir(opened.directory)
        for snippet in BY_DOCUMENT[document]:
            if snippet.language == "sh":
                create_files(snippet.text, opened.directory)
                for line in snippet.text.splitlines():
                    run_line(line, opened, spark)
                opened.stop_brokers()
            else:
                text = re.sub(r'(load|save)\("', rf'\1("{opened.directory}/', snippet.text)
                exec(compile(text, snippet.name, "exec"), names)


def run_line(line: str, opened: Shell, spark: "SparkSession") -> None:
    """Run a job of the pipeline in the existing session, and anything else in the shell."""
    words = shlex.split(line, comments=True)
    if words[:1] == ["kafkalet-spark"]:
        command, *arguments = [word.replace("9092", str(opened.port)) for word in words[1:]]
        arguments = [str(opened.directory / word) if word in PATHS else word for word in arguments]
        if "--bootstrap" in arguments:
            arguments += ["--timestamps", "50"]  # instead of 2,000 per partition
        assert jobs.main([command, *arguments, "--progress", "none"], spark=spark) == 0, line
        return
    done = opened.run(line)
    assert done.returncode == 0, f"{line}\n{done.stderr[-3000:]}"
    if words[:1] == ["unzip"]:  # a whole year of flights is not needed here
        path = opened.directory / "flights.csv"
        path.write_text("".join(path.read_text().splitlines(keepends=True)[: FLIGHTS + 1]))
