r"""The rules of `ssl.principal.mapping.rules`: from the name in a client's certificate to the name of its principal.

    RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,RULE:^CN=(.*?),OU=(.*?)$/$1@$2/L,DEFAULT

A rule applies if its pattern matches the whole name. The first rule that applies determines the principal: its
replacement is substituted for each match of the pattern; `L` and `U` convert the result to lower or upper case. DEFAULT
is the name itself. In a pattern and in a replacement, `\/` stands for a slash.

Source: org.apache.kafka.common.security.ssl.SslPrincipalMapper.
"""

import re
from typing import NamedTuple

from kafkalet.properties import InvalidProperty

from .java_patterns import UnsupportedPattern, compile_pattern, expand_replacement, matches

NAME = "ssl.principal.mapping.rules"

_RULE = r"(DEFAULT)|RULE:((\\.|[^\\/])*)/((\\.|[^\\/])*)/([LU]?).*?|(.*?)"
_SPLITTER = re.compile(rf"\s*({_RULE})\s*(,\s*|\Z)", re.ASCII)
_PARSER = re.compile(_RULE)
_BACK_REFERENCE = re.compile(r"\$(\d+)", re.ASCII)


class UnmappedName(ValueError):
    """The rules do not map the name in a client's certificate."""


class Rule(NamedTuple):
    """A rule. `pattern` and `replacement` are None for DEFAULT; `case` is "L", "U" or empty."""

    text: str | None = None
    pattern: re.Pattern[str] | None = None
    replacement: str = ""
    case: str = ""

    def __str__(self) -> str:
        if self.pattern is None:
            return "DEFAULT"
        return f"RULE:{self.text}/{self.replacement}{f'/{self.case}' if self.case else ''}"

    def apply(self, name: str) -> str | None:
        """Return the result for a name, or None if the rule does not apply. Raises UnmappedName."""
        if self.pattern is None:
            return name
        if not self.pattern.fullmatch(name):
            return None
        try:
            result = self._replace_all(name, self.pattern)
        except (ValueError, IndexError) as error:
            raise UnmappedName(f"the replacement of the rule {self} is not valid: {error}") from error
        return result.lower() if self.case == "L" else result.upper() if self.case == "U" else result

    def _replace_all(self, name: str, pattern: re.Pattern[str]) -> str:
        replacement = _literal_back_references(self.replacement, pattern.groups)
        parts, end = [], 0
        for match in matches(pattern, name):
            parts += [name[end : match.start()], expand_replacement(match, replacement)]
            end = match.end()
        return "".join([*parts, name[end:]])


class PrincipalMapping:
    """Mapping rules, in their order."""

    def __init__(self, rules: str = "DEFAULT") -> None:
        """Raises InvalidProperty if a rule is not valid."""
        self._rules = [rule for text in _split(rules) if (rule := _parse(text)) is not None]

    def name_of(self, name: str) -> str:
        """Return the name of the principal for a name in the form of RFC 2253. Raises UnmappedName."""
        for rule in self._rules:
            if (result := rule.apply(name)) is not None:
                return result
        raise UnmappedName(f"No rules apply to {name}, rules [{', '.join(map(str, self._rules))}]")


def _split(rules: str) -> list[str]:
    return [match[1] for match in _SPLITTER.finditer(rules.strip())]


def _parse(text: str) -> Rule | None:
    """Return the rule, or None for an empty one. Raises InvalidProperty."""
    match = _PARSER.match(text)
    if match is None:
        raise InvalidProperty(NAME, text, f"Invalid rule: {text}")
    if match.end() < len(text):
        rest = text[match.end() :]
        raise InvalidProperty(
            NAME,
            text,
            f"Invalid rule: `{text}`, unmatched substring: `{rest}`. A rule is DEFAULT or RULE:pattern/replacement/, "
            "with L or U after the last slash for lower or upper case",
        )
    if match[1] is not None:
        return Rule()
    if match[2] is None:
        return None
    try:
        pattern = compile_pattern(match[2])
    except UnsupportedPattern as error:
        raise InvalidProperty(NAME, text, f"Invalid rule: `{text}`: the pattern {match[2]} {error}") from error
    return Rule(match[2], pattern, match[4], match[6])


def _literal_back_references(replacement: str, groups: int) -> str:
    """Escape references to groups that the pattern does not have, as escapeLiteralBackReferences does.

    `$4` for a pattern with three groups becomes `\\$4`. Like Kafka, this inserts each backslash at the reference's
    position in the original text, so a second one is one character too early.
    """
    if groups == 0:
        return replacement
    value = replacement
    for match in _BACK_REFERENCE.finditer(replacement):
        digits = match[1]
        if digits.startswith("0"):
            continue
        index = int(digits[:11])
        if index > 0x7FFFFFFF:
            raise ValueError(f'For input string: "{digits}"')
        while index > groups and index >= 10:
            index //= 10
        if index > groups:
            start = match.start()
            value = f"{value[:start]}\\{value[start:]}"
    return value
