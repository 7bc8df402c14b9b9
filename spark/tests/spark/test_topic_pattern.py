"""`subscribePattern` matches the same topics as Java's Pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafkalet_spark.topic_pattern import BadPattern, compiled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ("a", "b", "aa", "b.x", "bbx", "Aa", "xa", "__m", "3", "a-b", "flights", "aba", "Orders_2", "[", "{1}", "\\")

PATTERNS = (
    "a", "^a$", "^a", "b$", "a|3", "^(a|b)+$", "a{2}", "^a{1,2}$", "^a{2,}$", "^a++$", "^a*+a$", "^(?>a+)b",
    "b.x", r"b\.x", r"\Qb.x\E", r"\Qb.x", r"^\p{Lower}+$", r"^\p{javaUpperCase}", r"\P{Alnum}", r"\p{L}\p{N}",
    r"\p{Punct}", r"^\p{IsAlphabetic}+$", "^[a-z&&[^b]]$", "^[a-z&&[a-c]&&[^a]]+$", "[a-c[x-z]]", "[]a]",
    "[a-]", "[^]]", "[^a-z]", r"[\w.-]{4,}", r"[\Q.-\E]", r"[\d&&[^3]]", "[&&a]", r"\z", r"a\Z", r"\x41",
    r"\x{61}", r"\u0061", r"\061\x2e", r"\0141", "(?i)^AA$", "(?i:A)a", r"(?<one>a)\k<one>", r"(a)\1",
    "a(?=b)", "a(?!a)", "(?<=b)x", "(?<!a)a$", r"\bb\b", r"\S\D\W", r"\{1\}", r"\[", "\\\\", "(?s)^.*$", "x*",
    "^$", r"\h", r"[^\h]",
)  # fmt: skip

ILLEGAL = ("(", "[", "[a", "a{", "a{,3}", "*", "a**", r"\y", "[b-a]", "(?P<n>a)", r"\p{Foo}", "\\", "(?<n", r"\k<n>")


@pytest.mark.parametrize("pattern", ILLEGAL)
def test_illegal_pattern_is_rejected(pattern: str) -> None:
    with pytest.raises(BadPattern):
        compiled(pattern)


@pytest.mark.parametrize("pattern", ["a(?i)b", "(?x) a", r"\b{g}", r"\G", "(?i-s:a)", "(?<=a+)b"])
def test_pattern_unsupported_in_python_is_rejected(pattern: str) -> None:
    with pytest.raises(BadPattern):
        compiled(pattern)


def test_patterns_match_the_same_topics_as_in_java(spark: SparkSession) -> None:
    java = spark._jvm.java.util.regex.Pattern  # type: ignore[union-attr]
    for pattern in PATTERNS:
        finds = [name for name in NAMES if java.compile(pattern).matcher(name).find()]
        assert [name for name in NAMES if compiled(pattern).search(name)] == finds, pattern


def test_java_rejects_the_illegal_patterns_too(spark: SparkSession) -> None:
    for pattern in ILLEGAL:
        with pytest.raises(Exception, match=r"."):
            spark._jvm.java.util.regex.Pattern.compile(pattern)  # type: ignore[union-attr]
