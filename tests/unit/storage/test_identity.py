"""Tests of meta.properties: the owner of a data directory, and which directories a broker refuses."""

import re
from pathlib import Path

import pytest

from kafkalet.storage.files import Files
from kafkalet.storage.identity import Identity, IdentityRefused, check_identity, read_identity, write_identity


def read(directory: Path, text: str | bytes) -> Identity | None:
    (directory / "meta.properties").write_bytes(text.encode() if isinstance(text, str) else text)
    return read_identity(Files(), str(directory))


def test_identity_round_trip(tmp_path: Path) -> None:
    properties = {"node.id": "1", "directory.id": "abc-_d", "version": "1", "cluster.id": "MkU3OEVBNTcwNTJENDM2Qk"}
    write_identity(Files(), str(tmp_path), properties)
    assert read_identity(Files(), str(tmp_path)) == ("MkU3OEVBNTcwNTJENDM2Qk", 1, "abc-_d")


def test_directory_without_the_file_has_no_identity(tmp_path: Path) -> None:
    assert read_identity(Files(), str(tmp_path)) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("#Fri Nov 21 13:43:01 UTC 2025\n!x\n\nbroker.id=0\ncluster.id=a\\=b\n", ("a=b", 0)),
        ("version=0\nbroker.id=7\n", (None, 7)),
        ("version = 0\nbroker.id: -1\ncluster.id x\n", ("x", -1)),
        ("version=1\nnode.id=0\ncluster.id=c\ndirectory.id=d\n", ("c", 0)),
        ("version=1\nnode.id=3\nbroker.id=4\ncluster.id=c\n", ("c", 3)),
    ],
)
def test_files_of_apache_kafka_are_read(tmp_path: Path, text: str, found: tuple[str | None, int | None]) -> None:
    identity = read(tmp_path, text)
    assert identity is not None
    assert identity[:2] == found


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("version=7\nnode.id=1\ncluster.id=c\n", "unknown version 7; expected 0 or 1"),
        ("version=\nnode.id=1\ncluster.id=c\n", "unknown version ; expected"),
        ("version=1\ncluster.id=c\n", "node.id is missing"),
        ("version=1\nnode.id=1\n", "cluster.id is missing"),
        ("version=1\nnode.id=x\ncluster.id=c\n", "node.id is x, which is not a valid broker id"),
        ("version=1\nnode.id=99999999999\ncluster.id=c\n", "node.id is 99999999999, which is not a valid broker id"),
        ("", "broker.id and cluster.id are both missing"),
        (b"\xff\xfe\x00garbage\x80", "broker.id and cluster.id are both missing"),
        (b"version=\xff\x00\n", r"unknown version '\xff\x00'; expected"),
        ("broker.id=\\u00zz", "meta.properties: "),
    ],
)
def test_file_that_names_no_broker_is_refused_in_one_line(tmp_path: Path, text: str | bytes, reason: str) -> None:
    with pytest.raises(IdentityRefused, match=re.escape(reason)) as refused:
        read(tmp_path, text)
    assert str(refused.value).startswith(str(tmp_path / "meta.properties"))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("expected", [("c", 1), (None, None), ("c", None), (None, 1)])
def test_directory_of_this_broker_is_opened(expected: tuple[str | None, int | None]) -> None:
    check_identity("d", Identity("c", 1), *expected)
    check_identity("d", Identity(None, None), *expected)


def test_directory_of_another_cluster_is_refused() -> None:
    with pytest.raises(IdentityRefused, match=r"cluster\.id is c, but this broker belongs to cluster mine"):
        check_identity("d", Identity("c", 1), "mine", None)


def test_directory_of_another_broker_is_refused() -> None:
    with pytest.raises(IdentityRefused, match="belongs to broker 1, but the id of this broker is 2"):
        check_identity("d", Identity("c", 1), None, 2)
