"""Regular expressions in the syntax of java.util.regex, for properties that contain patterns.

Source: java.util.regex.Pattern, Matcher.appendReplacement.
"""

import re


class UnsupportedPattern(ValueError):
    """A pattern that is not valid in Java, or that Python cannot express."""


def compile_pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern. Raises UnsupportedPattern."""
    try:
        return re.compile(text, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise UnsupportedPattern(f"is not valid: {error}") from error


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
    if rest[0] not in "0123456789":
        raise ValueError("Illegal group reference")
    number = int(rest[0])
    if number > match.re.groups:
        raise IndexError(f"No group {number}")
    place += 1
    while place < len(replacement) and replacement[place] in "0123456789":
        longer = number * 10 + int(replacement[place])
        if longer > match.re.groups:
            break
        number = longer
        place += 1
    return number, place
