"""Java's regular expressions and replacements."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.security.tls.java_patterns import UnsupportedPattern, compile_pattern, expand_replacement, matches


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^CN=(.*?),OU=ServiceUsers.*$", "CN=kafka,OU=ServiceUsers,O=x"),
        ("^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$", "O=x,cn=a.b"),
        ("(?<n>a)b", "ab"),
        ("(?i)aB", "Ab"),
        ("a$\\n", "a\n"),
        ("(a)\\1", "aa"),
        ("a++b?+c*+d{1,2}+", "aabccdd"),
        ("[^a]", "b"),
        ("[\\d_-]+", "1-_"),
        ("(?>a+)b(?=c)(?!d)c(?<=c)(?<!d)", "aabc"),
        ("\\/\\-\\ \\é", "/- é"),
        ("\\w\\d\\s\\W\\D\\S\\t\\f", "a1 éaé\t\f"),
    ],
)
def test_pattern_matches_as_in_java(pattern: str, text: str) -> None:
    assert compile_pattern(pattern).fullmatch(text)


@pytest.mark.parametrize(("pattern", "text"), [(".", "\u2028"), ("\\w", "é"), ("\\d", "\u0663"), ("(?i)é", "É")])
def test_pattern_does_not_match_as_in_java(pattern: str, text: str) -> None:
    assert not compile_pattern(pattern).fullmatch(text)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", ")", "a)", "[", "[a", "*", "a**", "a{", "{1}", "a{,2}", "a{99999999999}", "\\", "\\y", "\\k<n>"),
        *("(?<1>a)", "(?P<a>)", "(?<a>x)(?<a>y)", "(?#a)", "a(?i)b", "(?s).", "(?<=a*)b", "\\G", "\\Qa\\E", "\\z"),
        *("[a&&b]", "[a[b]]", "[]a]", "[a||b]", "[a--b]", "[\\b]", "[z-a]", "\\p{Alpha}", "\\x41", "\\12"),
    ],
)
def test_unsupported_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(UnsupportedPattern, match=r"^is not supported: "):
        compile_pattern(pattern)


@given(st.text(st.sampled_from("\\QEkpPxu0cehvR<n>{}[]()?:=!*+|^$&-~1aiLl.\n")))
def test_any_text_compiles_or_is_refused(text: str) -> None:
    try:
        pattern = compile_pattern(text)
    except UnsupportedPattern:
        return
    assert all(match.re is pattern for match in matches(pattern, "1aL\n"))


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [(".*", "ab", ["ab", ""]), ("x*", "axb", ["", "x", "", ""]), ("(.*?)", "ab", ["", "", ""]), ("b", "a", [])],
)
def test_search_continues_after_an_empty_match_as_in_java(pattern: str, text: str, found: list[str]) -> None:
    assert [match[0] for match in matches(re.compile(pattern), text)] == found


@pytest.mark.parametrize(
    ("replacement", "expected"),
    [("$1-$2", "a-b"), ("$12", "a2"), ("${x}", "a"), (r"\$1\\", "$1\\"), ("$0", "ab"), ("$3", ""), ("x", "x")],
)
def test_replacement_has_the_groups_of_the_match(replacement: str, expected: str) -> None:
    match = re.fullmatch("(?P<x>a)(b)(c)?", "ab")
    assert match is not None
    assert expand_replacement(match, replacement) == expected


@pytest.mark.parametrize(
    ("replacement", "message"),
    [
        ("$", "group index is missing"),
        ("$a", "Illegal group reference"),
        ("$1", "No group 1"),
        ("${x}", "No group with name {x}"),
        ("${x", "No group with name {x}"),
        ("a\\", "character to be escaped is missing"),
    ],
)
def test_invalid_replacement_is_refused(replacement: str, message: str) -> None:
    match = re.fullmatch("a", "a")
    assert match is not None
    with pytest.raises((ValueError, IndexError), match=re.escape(message)):
        expand_replacement(match, replacement)
