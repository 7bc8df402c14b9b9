"""Java's regular expressions and replacements."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.security.tls.java_patterns import UnsupportedPattern, compile_pattern, expand_replacement, matches


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(?<n>a)b\\k<n>", "aba"),
        ("\\Qa.b(\\E+", "a.b(("),
        ("\\Qa.b", "a.b"),
        ("a(?i)b|C", "aB"),
        ("a(?i)b|C", "c"),
        ("(a(?i)b)c", "aBc"),
        ("(?i:a)b", "Ab"),
        ("(?i)a(?-i)b", "Ab"),
        ("(?s).", "\n"),
        ("(?m)a$\\nb", "a\nb"),
        ("a$\\n", "a\n"),
        ("\\p{Alpha}\\P{Digit}\\p{L}", "aäß"),
        ("[\\p{Upper}_]+", "A_"),
        ("\\h[\\h]\\H", "\u3000 a"),
        ("\\R\\v[\\v]\\V", "\r\n\x0b\u2028a"),
        ("\\x41\\x{1F600}\\u00e9\\053\\e\\cA", "A\U0001f600é+\x1b\x01"),
        ("(a)\\12", "aa2"),
        ("a\\z", "a"),
        ("a\\Z\\n", "a\n"),
        ("a++b?+c*+d{1,2}+", "aabccdd"),
        ("[]a]+", "]a"),
        ("[^]a]", "b"),
        ("[a|~&-]+", "a|~&-"),
        ("[+--]+", "+,-"),
        ("[--a]+", "-a`"),
        ("[\\d-a]+", "1-a"),
        ("[a-c-e]+", "b-e"),
        ("(?>a+)b(?=c)(?!d)c(?<=c)(?<!d)", "aabc"),
        ("\\/\\-\\ \\é", "/- é"),
        ("\\w\\d\\s\\W\\D\\S\\t\\a\\f", "a1 éaé\t\a\f"),
    ],
)
def test_pattern_matches_as_in_java(pattern: str, text: str) -> None:
    assert compile_pattern(pattern).fullmatch(text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (".", "\u2028"),
        ("\\w", "é"),
        ("\\d", "\u0663"),
        ("(?i)é", "É"),
        ("(a(?i)b)c", "aBC"),
        ("\\P{Alpha}", "a"),
        ("\\P{L}", "ä"),
        ("\\2(a)", "a"),
        ("\\Q[a-z]\\E", "b"),
        ("a\\z\\n", "a\n"),
        ("\\V", "\x0b"),
    ],
)
def test_pattern_does_not_match_as_in_java(pattern: str, text: str) -> None:
    assert not compile_pattern(pattern).fullmatch(text)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", ")", "a)", "[", "[a", "*", "a**", "a{", "{1}", "a{,2}", "a{99999999999}", "\\", "\\y", "\\k", "\\k<"),
        *("\\k<1>", "\\k<n>", "(?<1>a)", "(?P<a>)", "(?<a>x)(?<a>y)", "(?#a)", "(?x)a b", "(?<=a*)b", "\\G", "\\X"),
        *("[a&&b]", "[a[b]]", "[\\P{Alpha}]", "[\\p{L}]", "[\\b]", "[\\H]", "[z-a]", "\\p{Greek}", "\\p"),
        *("\\x4", "\\x{110000}", "\\u12", "\\08", "\\c"),
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


@given(st.text())
def test_quoted_text_matches_itself(text: str) -> None:
    if "\\E" not in text:
        assert compile_pattern(f"\\Q{text}\\E").fullmatch(text)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [(".*", "ab", ["ab", ""]), ("x*", "axb", ["", "x", "", ""]), ("(.*?)", "ab", ["", "", ""]), ("b", "a", [])],
)
def test_search_goes_on_after_an_empty_match_as_in_java(pattern: str, text: str, found: list[str]) -> None:
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
