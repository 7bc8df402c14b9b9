"""`tools.reference.sources`: the text of source files."""

from pathlib import Path

import pytest

from tools.reference import sources


def test_section_of_a_file_is_a_code_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    (tmp_path / "a.go").write_text("\t// --8<-- [start:one]\n\tone\n\t// --8<-- [end:one]\n// --8<-- [start:two]\n")
    assert sources.file("a.go:one") == "```go\none\n```"
    with pytest.raises(ValueError, match=r"a\.go has no section two"):
        sources.file("a.go:two")
