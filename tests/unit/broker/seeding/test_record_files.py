"""Tests of reading files of records, and of the errors for invalid lines."""

import gzip
import zipfile
from pathlib import Path

import pytest

from kafkalet.broker.seeding.record_files import Columns, FileRecord, LoadError, RecordFile


def read(path: Path, columns: Columns = Columns()) -> list[FileRecord]:  # noqa: B008 - an immutable value
    return list(RecordFile(str(path), columns))


def written(tmp_path: Path, name: str, text: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def one(tmp_path: Path, line: str) -> FileRecord:
    [record] = read(written(tmp_path, "a.jsonl", line))
    return record


def test_every_field_of_a_line_is_optional(tmp_path: Path) -> None:
    assert one(tmp_path, "{}") == FileRecord(1, None, None)


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ('"text"', b"text"),
        ('"\\u00e4"', "ä".encode()),
        ('""', b""),
        ("null", None),
        ('{"b": 1, "a": ["x", null]}', b'{"b":1,"a":["x",null]}'),
        ("[]", b"[]"),
        ("12", b"12"),
        ("1.50", b"1.5"),
        ("true", b"true"),
        ("123456789012345678901234567890", b"123456789012345678901234567890"),
        ('{"name": "\\u00e4"}', '{"name":"ä"}'.encode()),
    ],
)
def test_keys_and_values_are_text_null_or_compact_json(tmp_path: Path, value: str, content: bytes | None) -> None:
    record = one(tmp_path, f'{{"key": {value}, "value": {value}}}')
    assert (record.key, record.value) == (content, content)


@pytest.mark.parametrize(
    ("timestamp", "ms"),
    [
        ("0", 0),
        ("1357016400000", 1357016400000),
        ('"1357016400000"', 1357016400000),
        ('"2013-01-01T05:00:00Z"', 1357016400000),
        ('"2013-01-01 05:00:00"', 1357016400000),
        ('"2013-01-01T00:00:00-05:00"', 1357016400000),
        ('"2013-01-01T05:00:00.123456Z"', 1357016400123),
        ('"2013-01-01"', 1356998400000),
        ("null", None),
    ],
)
def test_timestamps_are_milliseconds_or_iso_8601_in_utc(tmp_path: Path, timestamp: str, ms: int | None) -> None:
    assert one(tmp_path, f'{{"timestamp": {timestamp}}}').timestamp == ms


def test_headers_are_an_object_or_pairs(tmp_path: Path) -> None:
    assert one(tmp_path, '{"headers": {"a": "x", "b": null, "c": 1}}').headers == (
        ("a", b"x"),
        ("b", None),
        ("c", b"1"),
    )
    assert one(tmp_path, '{"headers": [["a", "x"], ["a", "y"]]}').headers == (("a", b"x"), ("a", b"y"))


def test_blank_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    records = read(written(tmp_path, "a.jsonl", '\n{"value": "a"}\n\n  \n{"value": "b"}'))
    assert [(record.line, record.value) for record in records] == [(2, b"a"), (5, b"b")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "is not JSON: Expecting property name enclosed in double quotes at column 2"),
        ('{"value": 1} {}', "is not JSON: Extra data at column 14"),
        ("[1]", "is not a JSON object"),
        ('{"valeu": 1}', "has an unknown field valeu; a record has key, value, headers, timestamp and partition"),
        ('{"value": NaN}', "NaN is not JSON"),
        ('{"value": "\\ud800"}', "cannot be stored"),
        ('{"timestamp": "soon"}', 'timestamp "soon" is neither milliseconds since 1970 nor ISO 8601'),
        ('{"timestamp": -5}', "timestamp -5 is neither milliseconds since 1970 nor ISO 8601"),
        ('{"timestamp": 1.5}', "timestamp 1.5 is neither"),
        ('{"timestamp": true}', "timestamp true is neither"),
        ('{"timestamp": "1969-12-31"}', 'timestamp "1969-12-31" is neither'),
        ('{"timestamp": 9223372036854775808}', "timestamp 9223372036854775808 is neither"),
        ('{"partition": -1}', "partition -1 is not a number of at least 0"),
        ('{"partition": "1"}', 'partition "1" is not a number of at least 0'),
        ('{"partition": true}', "partition true is not a number of at least 0"),
        ('{"headers": [1]}', 'headers must be {"name": value} or [["name", value]]'),
        ('{"headers": "a"}', "headers must be "),
        ('{"value":' + "[" * 100_000, "cannot be stored"),
        ('{"value": ' + "9" * 5000 + "}", "Exceeds the limit"),
    ],
)
def test_invalid_line_is_reported_with_file_and_line_number(tmp_path: Path, line: str, reason: str) -> None:
    path = written(tmp_path, "a.jsonl", '{"value": 1}\n' + line + "\n")
    with pytest.raises(LoadError) as failed:
        read(path)
    assert str(failed.value).startswith(f"{path}:2: {reason}")


def test_text_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", b'{"value": 1}\n{"value": "\xff"}\n')
    with pytest.raises(LoadError, match=r"a\.jsonl:2: is not UTF-8: invalid start byte at byte 11"):
        read(path)


def test_a_row_becomes_an_object_of_strings(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", 'id,name,note\r\n1,"a, ""b""",\r\n2,ä,x\r\n')
    assert read(path) == [
        FileRecord(2, None, b'{"id":"1","name":"a, \\"b\\"","note":""}'),
        FileRecord(3, None, '{"id":"2","name":"ä","note":"x"}'.encode()),
    ]


def test_columns_become_key_and_timestamp_and_stay_in_the_value(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "id,at\n7,2013-01-01T05:00:00Z\n,\n")
    assert read(path, Columns("id", "at")) == [
        FileRecord(2, b"7", b'{"id":"7","at":"2013-01-01T05:00:00Z"}', timestamp=1357016400000),
        FileRecord(3, None, b'{"id":"","at":""}'),
    ]


def test_row_over_several_lines_has_the_number_of_the_first(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", 'a,b\n1,"x\ny\nz"\n2,c\n')
    assert [record.line for record in read(path)] == [2, 5]


@pytest.mark.parametrize(
    ("text", "columns", "reason"),
    [
        ("a,b\n1,2\n3\n", Columns(), ":3: has 1 fields, but the header has 2"),
        ("a,b\n1,2\n", Columns(key="c"), ":1: there is no column c; the columns are a, b"),
        ("a,a\n1,2\n", Columns(), ":1: two columns have the same name"),
        ("a,b\n1,x\n2,y\n", Columns(timestamp="b"), ':2: timestamp "x" is neither'),
        ('a,b\n1,"x\n', Columns(), ":2: unexpected end of data"),
        ("a,b\n1," + "9" * 5000, Columns(timestamp="b"), ':2: timestamp "9'),
    ],
)
def test_invalid_row_is_reported_with_file_and_line_number(
    tmp_path: Path, text: str, columns: Columns, reason: str
) -> None:
    path = written(tmp_path, "a.csv", text)
    with pytest.raises(LoadError) as failed:
        read(path, columns)
    assert str(failed.value).startswith(str(path) + reason)


def test_compressed_files_are_read(tmp_path: Path) -> None:
    line, row = '{"value": "x"}\n', "a\nx\n"
    jsonl = written(tmp_path, "a.jsonl.gz", gzip.compress(line.encode()))
    csv = written(tmp_path, "a.csv.gz", gzip.compress(row.encode()))
    packed = tmp_path / "b.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/", "")
        archive.writestr("folder/a.csv", row)
    assert [record.value for record in read(jsonl)] == [b"x"]
    assert [record.value for record in read(csv)] == [b'{"a":"x"}']
    assert [record.value for record in read(packed)] == [b'{"a":"x"}']


def test_format_is_recognized_by_the_first_character(tmp_path: Path) -> None:
    assert read(written(tmp_path, "a", '\n {"value": "x"}\n'))[0].value == b"x"
    assert read(written(tmp_path, "b", "a\nx\n"))[0].value == b'{"a":"x"}'
    assert read(written(tmp_path, "c", b'\xef\xbb\xbf{"value": "x"}\n'))[0].value == b"x"


@pytest.mark.parametrize(
    ("name", "text", "is_csv"),
    [
        ("a.csv", "", True),
        ("a.jsonl", "a,b", False),
        ("a", "a,b", True),
        ("a", '{"value": 1}', False),
        ("a", "", False),
    ],
)
def test_is_csv_works_before_the_file_is_read(tmp_path: Path, name: str, text: str, is_csv: bool) -> None:
    assert RecordFile(str(written(tmp_path, name, text))).is_csv is is_csv


def test_an_empty_file_holds_no_records(tmp_path: Path) -> None:
    assert read(written(tmp_path, "a.jsonl", "")) == []
    assert read(written(tmp_path, "a.csv", "")) == []
    assert read(written(tmp_path, "a", "")) == []


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.csv.zip"])
def test_damaged_compressed_file_is_reported(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name, b"this is no archive")
    with pytest.raises(LoadError, match=r"a\.(jsonl\.gz|csv\.zip): cannot be decompressed"):
        read(path)


def test_incomplete_gzip_file_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl.gz", gzip.compress(b'{"value": "x"}\n' * 1000)[:-20])
    with pytest.raises(LoadError, match="cannot be decompressed"):
        read(path)


def test_a_zip_of_two_files_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "a\n")
        archive.writestr("b.csv", "a\n")
    with pytest.raises(LoadError, match="contains 2 files; expected exactly one"):
        read(path)


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.jsonl")


def test_progress_goes_from_0_to_1(tmp_path: Path) -> None:
    file = RecordFile(str(written(tmp_path, "a.jsonl", '{"value": "x"}\n' * 50_000)))
    parts = [file.progress for _ in file]
    assert 0 < parts[0] < 0.5
    assert parts == sorted(parts)
    assert file.progress == 1.0
