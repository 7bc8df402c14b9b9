"""The rows of facts.parquet."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from kafkalet_spark.audit.facts import SCHEMA, numbers, tables

from .audited import audited, batch, flip, make, only, segments, write_log


def rows(path: Path) -> list[dict[str, object]]:
    return pa.concat_tables(tables(only(audited(path)))).to_pylist()


def test_every_number_has_a_row(tmp_path: Path) -> None:
    made = make(tmp_path)
    result = {row["name"]: row["value"] for row in rows(made.path) if row["kind"] == "partition"}
    assert result == numbers(only(audited(made.path)))
    assert result["log_end_offset"] == result["records"] + result["markers"]
    assert result["open_transactions"] == 1


def test_every_row_names_its_log(tmp_path: Path) -> None:
    made = make(tmp_path)
    for table in tables(only(audited(made.path))):
        assert table.schema.equals(SCHEMA)
        assert set(table["topic"].to_pylist()) == {"a.b-c"}


def test_every_transaction_has_a_row(tmp_path: Path) -> None:
    made = make(tmp_path)
    found = [row for row in rows(made.path) if row["kind"] == "transaction"]
    facts = only(audited(made.path))
    assert len(found) == facts.transactions.size == 13
    assert [row["first_offset"] for row in found] == facts.transactions["first_offset"].tolist()
    (still,) = [row for row in found if row["name"] == "open"]
    assert (still["last_offset"], still["value"], still["producer_id"]) == (None, 2, 3)
    assert Path(str(still["file"])).read_bytes()[still["position"] :][:8] == still["first_offset"].to_bytes(8, "big")


def test_segments_and_gaps_and_findings_have_rows(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0), batch(5)]), (7, [batch(7)]))
    found = rows(directory)
    sizes = [row["value"] for row in found if (row["kind"], row["name"]) == ("segment", "size")]
    assert sizes == [path.stat().st_size for path in sorted(directory.glob("*.log"))]
    entries = [row["value"] for row in found if (row["kind"], row["name"]) == ("segment", "entries")]
    assert entries == [2, 1]
    (gap,) = [row for row in found if row["kind"] == "gap"]
    assert (gap["name"], gap["first_offset"], gap["last_offset"], gap["value"]) == ("missing", 2, 4, 3)
    (finding,) = [row for row in found if row["kind"] == "finding"]
    assert (finding["name"], finding["first_offset"], finding["position"]) == ("missing", 2, gap["position"])


def test_damage_is_counted(tmp_path: Path) -> None:
    made = make(tmp_path)
    flip(segments(made)[0], 40)
    result = numbers(only(audited(made.path)))
    assert result["unreadable_offsets"] == 3
    assert result["damaged_bytes"] > 0
