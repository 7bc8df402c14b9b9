"""`tools.reference.kafka_tests`: the results of Kafka's own tests as tables."""

from pathlib import Path

import pytest

from tools.reference import kafka_tests


@pytest.fixture(autouse=True)
def results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "classes.txt").write_text("# Clients\norg.apache.kafka.clients.ATest\norg.apache.kafka.clients.BTest\n")
    (tmp_path / "results.tsv").write_text(
        "org.apache.kafka.clients.ATest\tdoes not apply\t2\ttestA\t`plugin | x`\n"
        "org.apache.kafka.clients.ATest\tpassed\t3\t\t\n"
    )
    monkeypatch.setattr(kafka_tests, "SOURCE", tmp_path)


def test_group_says_how_many_classes_were_run() -> None:
    assert "| Clients (1 of 2 classes run) | 3 |  |  | 2 |  |  |" in kafka_tests.text("groups")
    assert "| **all** | 3 |  |  | 2 |  |  |" in kafka_tests.text("groups")


def test_class_has_its_counts_and_one_that_was_not_run_has_none() -> None:
    assert "| `clients.ATest` | 3 |  |  | 2 |  |  |" in kafka_tests.text("classes")
    assert "BTest" not in kafka_tests.text("classes")


def test_reason_has_its_tests() -> None:
    assert kafka_tests.text("reasons").splitlines() == [
        "### Does not apply",
        "",
        "| reason | tests |",
        "| --- | --- |",
        "| `plugin \\| x` | `ATest#testA` |",
    ]
