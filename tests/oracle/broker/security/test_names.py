"""Java and Kafka derive the same names from certificates, and the same principals from names, as kafkalet does."""

import random
import subprocess
from pathlib import Path

import pytest

from kafkalet.broker.security.tls.distinguished_names import KEYWORDS, name_of
from kafkalet.broker.security.tls.principal_mapping import PrincipalMapping, UnmappedName
from kafkalet.properties import InvalidProperty
from tests.oracle.apache_kafka import _install, _jars, missing
from tests.unit.broker.security.tls.der import attribute, name, relative_name

pytestmark = pytest.mark.oracle

SOURCE = Path(__file__).with_name("Names.java")
RELEASE = "3.9"
NAMES = 20_000
RULES = 40_000


def asked(lines: list[str]) -> list[str]:
    if reason := missing(RELEASE):
        pytest.skip(reason)
    _install(RELEASE)
    command = ["java", "-Xmx256m", "-cp", f"{_jars(RELEASE)}/*", str(SOURCE)]
    done = subprocess.run(
        command, input="\n".join(lines), capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


TYPES = [*KEYWORDS, "1.2.840.113549.1.9.1", "2.5.4.5", "2.5.4.12", "2.5.4.42", "1.2.3.4.5", "2.999.1"]
CHARACTERS = " ,+\"\\<>;=#\r\n\t\0a bcAZ09äöß€漢😀*@:/'()._-?|~^%$&"
TEXTS = {0x0C: "utf-8", 0x13: "ascii", 0x14: "latin-1", 0x16: "latin-1", 0x1B: "latin-1", 0x1E: "utf-16-be"}
OTHER_TAGS = {0x02: b"\5", 0x04: b"abc", 0x18: b"20240101000000Z", 0x1C: "ab".encode("utf-32-be"), 0x12: b"1 2"}


def any_attribute(chance: random.Random) -> bytes:
    tag = chance.choice([*TEXTS, 0x0C, 0x0C, 0x13, *OTHER_TAGS])
    text = "".join(chance.choices(CHARACTERS, k=chance.randrange(6)))
    value = OTHER_TAGS[tag] if tag in OTHER_TAGS else text.encode(TEXTS[tag], "ignore")
    return attribute(chance.choice(TYPES), tag, value)


def any_name(chance: random.Random) -> bytes:
    counts = [chance.choice([1, 1, 1, 2]) for _ in range(chance.randrange(4))]
    return name(*(relative_name(*(any_attribute(chance) for _ in range(count))) for count in counts))


def test_java_writes_the_same_names() -> None:
    chance = random.Random(7)
    names = [any_name(chance) for _ in range(NAMES)]
    answers = asked([f"name {each.hex()}" for each in names])
    different = [
        (each.hex(), bytes.fromhex(answer).decode(), name_of(each))
        for each, answer in zip(names, answers, strict=True)
        if bytes.fromhex(answer).decode() != name_of(each)
    ]
    assert different == []


PIECES = [
    *(
        "CN=",
        "OU=",
        "O=",
        "a",
        "b",
        ",",
        "(.*?)",
        "(.*)",
        ".*",
        ".*$",
        "^",
        "$",
        "[a-z]+",
        "[^,]*",
        "(a|b)",
        "\\/",
        "x*",
    ),
    *("(?<n>a)", "\\k<n>", "\\Qa.b\\E", "(?i)", "(?i:A)", "(?-i)", "\\p{Alpha}", "\\P{Digit}", "[\\p{Upper}=]", "\\1"),
    *("\\12", "\\2", "\\h", "\\R", "\\x41", "\\x{61}", "\\u0041", "\\z", "\\Z", "\\s", "\\w", "\\d", "a{1,2}", "b?+"),
    *(
        "(",
        ")",
        "[",
        "]",
        "{",
        "*",
        "+",
        "?",
        "|",
        "\\.",
        "(?=C)",
        "(?!X)",
        "(?:b)",
        "(?>a)",
        "é",
        "[a&&b]",
        "\\e",
        "\\y",
    ),
]
REPLACEMENTS = ["$1", "$2", "$12", "$0", "$", "\\\\", "\\$", "x", "@", "${n}", "${m}", "\\", " ", "$9", "$3$4", "é"]
SEPARATORS = [",", " , ", ",,", " ", "", "\n,"]
LETTERS = ["CN=", "OU=", "O=", "a", "b", ",", "A", "é", "\n", "\r\n", ".", "/", "1", " ", "\u2028"]


def any_rules(chance: random.Random) -> str:
    rules = []
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        pattern = "".join(chance.choices(PIECES, k=chance.randrange(1, 6)))
        replacement = "".join(chance.choices(REPLACEMENTS, k=chance.randrange(4)))
        rule = f"RULE:{pattern}/{replacement}/{chance.choice(['', '', 'L', 'U', 'X'])}"
        rules += [
            chance.choice([rule, rule, rule, rule, "DEFAULT", "", "RULE:x", "default"]),
            chance.choice(SEPARATORS),
        ]
    return "".join(rules)


def mapped(rules: str, given: str) -> str:
    """Return the principal to which kafkalet maps a name, in the notation of Names.java; "-" if it does not support the
    rules.
    """
    try:
        mapping = PrincipalMapping(rules)
    except InvalidProperty as error:
        return "-" if "is not supported" in str(error) else "!"
    try:
        return mapping.name_of(given).encode().hex()
    except UnmappedName:
        return "?"


def test_kafka_maps_names_to_the_same_principals() -> None:
    chance = random.Random(7)
    questions = [(any_rules(chance), "".join(chance.choices(LETTERS, k=chance.randrange(1, 6)))) for _ in range(RULES)]
    lines = [f"map {rules.encode().hex()} {given.encode().hex()}" for rules, given in questions]
    answers = asked(lines)
    ours = [mapped(rules, given) for rules, given in questions]
    different = [
        (*question, answer, our)
        for question, answer, our in zip(questions, answers, ours, strict=True)
        if answer != our and our != "-"
    ]
    assert different == []
    supported = sum(our not in ("-", "!") and answer != "!" for answer, our in zip(answers, ours, strict=True))
    assert supported > RULES / 10
