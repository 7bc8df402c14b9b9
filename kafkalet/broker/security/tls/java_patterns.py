r"""Regular expressions that Java and Python understand alike, for properties that contain patterns.

Accepted are literals, `.`, `^`, `$`, `|`, classes, groups, lookahead and lookbehind, quantifiers, references to groups,
the escapes `\d \D \s \S \w \W \b \B \A \t \n \r \f`, escaped punctuation, `(?<name>...)`, and `(?i)` at the beginning.
Java's `.` and `$` know more line terminators than Python's, so they are translated. All other constructs, such as `\Q`,
`\p{Alpha}` and intersections of classes, are refused.

Source: java.util.regex.Pattern, Matcher.appendReplacement.
"""

import re
from collections.abc import Iterator

TERMINATORS = r"\n\r\x85\u2028\u2029"
_TOKEN = re.compile(
    r"""
    \\ ([dDsSwWbBAtnrf] | [1-9](?!\d) | [^a-zA-Z0-9])
    | \[ \^? ( \\ ([dDsSwWtnrf] | [^a-zA-Z0-9]) | [^]\\[&|~-] | -(?!-) )+ ]
    | \( \?<(?P<name> [a-zA-Z][a-zA-Z0-9]* )>
    | \( ( \? (:|=|!|>|<=|<!) | (?!\?) )
    | \{ \d+ (,\d*)? }
    | [^\\[({]
    """,
    re.ASCII | re.VERBOSE | re.DOTALL,
)
_TRANSLATIONS = {".": f"[^{TERMINATORS}]", "$": rf"(?=(?:\r\n|[{TERMINATORS}])?\Z)"}
_DIGITS = "0123456789"


class UnsupportedPattern(ValueError):
    """A pattern that is not valid in Java, or that may have another meaning in Python."""


def compile_pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern. Raises UnsupportedPattern."""
    is_case_insensitive = text.startswith("(?i)")
    place = 4 if is_case_insensitive else 0
    parts: list[str] = []
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            raise UnsupportedPattern(f"is not supported: {text[place : place + 3]} at index {place}")
        name = token["name"]
        parts.append(_TRANSLATIONS.get(token[0], token[0]) if name is None else f"(?P<{name}>")
        place = token.end()
    try:
        return re.compile("".join(parts), re.ASCII | (re.IGNORECASE if is_case_insensitive else 0))
    except (re.error, OverflowError, RecursionError) as error:
        raise UnsupportedPattern(f"is not supported: {error}") from error


def matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of Java's Matcher.find. After an empty match, it continues after the next character."""
    start = 0
    while start <= len(text) and (match := pattern.search(text, start)) is not None:
        yield match
        start = match.end() + (match.end() == match.start())


def expand_replacement(match: re.Match[str], replacement: str) -> str:
    r"""Return a replacement with the groups of a match: `$1`, `${name}`; `\` escapes the next character.

    Raises ValueError or IndexError where Java does.
    """
    parts: list[str] = []
    place = 0
    while place < len(replacement):
        character = replacement[place]
        place += 1
        if character == "\\":
            if place == len(replacement):
                raise ValueError("character to be escaped is missing")
            parts.append(replacement[place])
            place += 1
        elif character == "$":
            group, place = _group(replacement, place, match)
            parts.append(match[group] or "")
        else:
            parts.append(character)
    return "".join(parts)


def _group(replacement: str, place: int, match: re.Match[str]) -> tuple[int, int]:
    """Return the group that is referenced after a `$`, and the place after the reference."""
    rest = replacement[place:]
    if not rest:
        raise ValueError("Illegal group reference: group index is missing")
    if rest[0] == "{":
        named = re.match(r"\{([a-zA-Z][a-zA-Z0-9]*)\}", rest)
        if named is None or named[1] not in match.re.groupindex:
            raise ValueError(f"No group with name {rest.partition('}')[0]}}}")
        return match.re.groupindex[named[1]], place + named.end()
    if rest[0] not in _DIGITS:
        raise ValueError("Illegal group reference")
    number = int(rest[0])
    if number > match.re.groups:
        raise IndexError(f"No group {number}")
    place += 1
    while place < len(replacement) and replacement[place] in _DIGITS:
        longer = number * 10 + int(replacement[place])
        if longer > match.re.groups:
            break
        number = longer
        place += 1
    return number, place
