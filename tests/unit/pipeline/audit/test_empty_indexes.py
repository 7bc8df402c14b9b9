"""An index that has lost all its entries is distinguished from one that never had any."""

from __future__ import annotations

from pathlib import Path

import pytest

from .audited import audited, batch, cut, make, segments, write_log


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("at", [0, 1, -1])
def test_emptied_index_is_found(tmp_path: Path, suffix: str, at: int) -> None:
    made = make(tmp_path)
    path = segments(made, suffix)[at]
    cut(path, 0)
    (finding,) = audited(made.path).findings
    assert (finding.fault, finding.file) == (f"empty-{suffix[1:]}", str(path))


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_emptied_index_is_found_after_unclean_shutdown(tmp_path: Path, suffix: str) -> None:
    made = make(tmp_path)
    (made.path / ".kafka_cleanshutdown").unlink()
    path = segments(made, suffix)[-1]
    cut(path, 0)
    (finding,) = audited(made.path).findings
    assert (finding.fault, finding.file) == (f"empty-{suffix[1:]}", str(path))


def test_small_segment_needs_no_index_entries(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(0)]), (2, [batch(2)]))
    assert (directory / f"{0:020d}.index").stat().st_size == 0
    assert audited(directory).agrees


def test_loss_of_both_indexes_is_found_in_the_time_index(tmp_path: Path) -> None:
    made = make(tmp_path)
    for suffix in (".index", ".timeindex"):
        cut(segments(made, suffix)[0], 0)
    assert [finding.fault for finding in audited(made.path).findings] == ["empty-timeindex"]
