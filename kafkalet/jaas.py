"""JAAS configurations: the values of `sasl.jaas.config`, of brokers and of clients.

    org.apache.kafka.common.security.plain.PlainLoginModule required
        user_alice="alice-secret"     // a comment
        user_bob='bob\\'s secret';

Names and values are words or strings in single or double quotes, with the escapes of Java. Options end with a
semicolon. Values can be passwords, so messages do not quote the text.

Source: org.apache.kafka.common.security.JaasConfig, JaasContext.load; java.io.StreamTokenizer.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

PASSWORD_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
"""The SASL mechanisms with which a client logs in with a user name and a password."""
_PACKAGE = "org.apache.kafka.common.security"
LOGIN_MODULES = {
    "PLAIN": f"{_PACKAGE}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_PACKAGE}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_PACKAGE}.scram.ScramLoginModule",
    "OAUTHBEARER": f"{_PACKAGE}.oauthbearer.OAuthBearerLoginModule",
}
"""The SASL mechanisms that kafkalet supports, with the login module of each."""

CONTROL_FLAGS = ("required", "requisite", "sufficient", "optional")
_ESCAPES = {"a": "\x07", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_OCTAL = "01234567"
_DIGITS = "0123456789"
_LINE_ENDS = "\r\n"


class MalformedJaas(ValueError):
    """A JAAS configuration cannot be parsed. The message contains no values."""


@dataclass(frozen=True)
class LoginModule:
    """A login module with its options. The values may be secrets."""

    name: str
    options: Mapping[str, str] = field(repr=False)


def parse_login_module(text: str) -> LoginModule:
    """Return the only login module of a JAAS configuration. Raises MalformedJaas."""
    modules = list(_modules(_Tokens(text)))
    if not modules:
        raise MalformedJaas("Login module not specified in JAAS config")
    if len(modules) != 1:
        raise MalformedJaas(f"JAAS config property contains {len(modules)} login modules, should be 1 module")
    return modules[0]


def login_module_text(mechanism: str, options: Mapping[str, str]) -> str:
    """Return the JAAS configuration with the login module of a mechanism and these options."""
    given = "".join(f" {_word(name)}={_quoted(value)}" for name, value in options.items())
    return f"{LOGIN_MODULES[mechanism]} required{given};"


def _word(text: str) -> str:
    return text if text.isascii() and text.isidentifier() else _quoted(text)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


class _Token(str):
    """A word or a string. Other characters are `_Sign`, and numbers are `_NUMBER`."""


class _Sign(str):
    """A character that is not part of a word, or a number."""


_NUMBER = _Sign("number")


def _modules(tokens: "_Tokens") -> Iterator[LoginModule]:
    while (first := tokens.next()) is not None:
        if not isinstance(first, _Token):
            raise MalformedJaas("JAAS config: an entry must begin with the name of a login module")
        flag = tokens.next()
        if flag is None:
            raise MalformedJaas("Login module control flag not specified in JAAS config")
        if not isinstance(flag, _Token):
            raise MalformedJaas("Login module control flag is not available in the JAAS config")
        if flag.lower() not in CONTROL_FLAGS:
            raise MalformedJaas(
                f"Invalid login module control flag in JAAS config: it must be one of {', '.join(CONTROL_FLAGS)}"
            )
        yield LoginModule(str(first), _options(tokens))


def _options(tokens: "_Tokens") -> dict[str, str]:
    options: dict[str, str] = {}
    while (name := tokens.next()) != _Sign(";") or isinstance(name, _Token):
        if name is None:
            raise MalformedJaas("JAAS config entry not terminated by semi-colon")
        sign = tokens.next()
        value = tokens.next() if isinstance(sign, _Sign) and sign == "=" else None
        if not isinstance(name, _Token) or not isinstance(value, _Token):
            raise MalformedJaas(
                f"Value not specified for option {len(options) + 1} in JAAS config: options have the form "
                'name="value", and a quote in a value is written as \\"'
            )
        options[str(name)] = str(value)
    return options


class _Tokens:
    """Splits a string as java.io.StreamTokenizer does with the settings of JaasConfig."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def _peek(self) -> str:
        """Return the next character, or "" at the end."""
        return self._text[self._at : self._at + 1]

    def next(self) -> _Token | _Sign | None:
        """Return the next token, or None at the end."""
        self._skip()
        char = self._peek()
        if not char:
            return None
        if char in _DIGITS or char in ".-":
            return self._number()
        if _is_letter(char):
            start = self._at
            while (char := self._peek()) and (_is_letter(char) or char in _DIGITS or char == "."):
                self._at += 1
            return _Token(self._text[start : self._at])
        self._at += 1
        return self._string(char) if char in "'\"" else _Sign(char)

    def _skip(self) -> None:
        """Skip whitespace and comments."""
        while char := self._peek():
            if char <= " ":
                self._at += 1
            elif self._text.startswith("/*", self._at):
                end = self._text.find("*/", self._at + 2)
                self._at = len(self._text) if end < 0 else end + 2
            elif char == "/":  # a single slash begins a comment, too
                while (char := self._peek()) and char not in _LINE_ENDS:
                    self._at += 1
            else:
                return

    def _number(self) -> _Sign:
        if self._peek() == "-":
            self._at += 1
            char = self._peek()
            if not char or char not in _DIGITS + ".":
                return _Sign("-")
        has_dot = False
        while (char := self._peek()) and (char in _DIGITS or (char == "." and not has_dot)):
            has_dot = has_dot or char == "."
            self._at += 1
        return _NUMBER

    def _string(self, quote: str) -> _Token:
        """Return a string literal. Without a closing quote, it ends at the end of the line."""
        found: list[str] = []
        while (char := self._peek()) and char != quote and char not in _LINE_ENDS:
            self._at += 1
            found.append(self._escaped() if char == "\\" else char)
        if char == quote:
            self._at += 1
        return _Token("".join(found))

    def _escaped(self) -> str:
        char = self._peek()
        self._at += 1
        if not char or char not in _OCTAL:
            return _ESCAPES.get(char, char)
        digits, most = char, 3 if char <= "3" else 2
        while len(digits) < most and (char := self._peek()) and char in _OCTAL:
            digits += char
            self._at += 1
        return chr(int(digits, 8))


def _is_letter(char: str) -> bool:
    return (char.isascii() and char.isalpha()) or char in "-_$" or char >= "\xa0"
