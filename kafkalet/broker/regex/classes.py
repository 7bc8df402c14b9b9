"""Character classes of regular expressions.

The ASCII characters in a class are stored as a 128-bit mask, because topic names are ASCII. All other characters are
tested by a predicate, because only a few are ever tested.

Source: com.google.re2j.CharGroup, UnicodeTables.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeAlias
from unicodedata import category, name, normalize

Beyond: TypeAlias = Callable[[int], bool]
"""Returns whether a character code of 128 or more is in a class."""


class Characters(NamedTuple):
    """A character class: a mask of ASCII characters and a predicate for all others."""

    mask: int
    beyond: Beyond

    def negated(self) -> "Characters":
        beyond = self.beyond
        opposite = all_beyond if beyond is none_beyond else lambda code: not beyond(code)
        return Characters(EVERY & ~self.mask, opposite)


def none_beyond(code: int) -> bool:
    return False


def all_beyond(code: int) -> bool:
    return True


def union(classes: list[Characters]) -> Characters:
    """Return the union of `classes`."""
    mask = 0
    for each in classes:
        mask |= each.mask
    tests = [each.beyond for each in classes if each.beyond is not none_beyond]
    if all_beyond in tests:
        return Characters(mask, all_beyond)
    if len(tests) < 2:
        return Characters(mask, tests[0] if tests else none_beyond)
    return Characters(mask, lambda code: any(test(code) for test in tests))


def code_range(low: int, high: int, *, folds: bool) -> Characters:
    """Return a class with the characters from `low` to `high`; `folds` means case-insensitive."""
    if folds:
        return Characters(folded(between(low, high), low, high), _beyond_folded(low, high))
    if high < 128:
        return Characters(between(low, high), none_beyond)
    return Characters(between(low, high), lambda code: low <= code <= high)


def ascii_class(mask: int, *, folds: bool, negative: bool = False) -> Characters:
    """Return a class of ASCII characters, or its complement.

    A case-insensitive class with s or k also contains the long s or the Kelvin sign.
    """
    if folds:
        mask = folded(mask)
        characters = Characters(mask, lambda code: any(code < 128 and mask >> code & 1 for code in _variants(code)))
    else:
        characters = Characters(mask, none_beyond)
    return characters.negated() if negative else characters


def _beyond_folded(low: int, high: int) -> Beyond:
    def holds(code: int) -> bool:
        return any(low <= variant <= high for variant in _variants(code))

    return holds


def _variants(code: int) -> set[int]:
    """Return the character's lowercase and uppercase forms, unless a form has several characters."""
    lower, upper = chr(code).lower(), chr(code).upper()
    return {code, *(ord(variant) for variant in (lower, upper, lower.upper(), upper.lower()) if len(variant) == 1)}


EVERY = (1 << 128) - 1

_LONG_S, _KELVIN = 0x17F, 0x212A


def between(low: int, high: int) -> int:
    """Return the mask of the ASCII characters from `low` to `high`, inclusive."""
    high = min(high, 127)
    return (1 << high + 1) - (1 << low) if low <= high else 0


def one(code: int) -> int:
    return between(code, code)


def of(*ranges: str) -> int:
    """Return the mask for ranges such as "AZ" and for single characters."""
    mask = 0
    for each in ranges:
        mask |= between(ord(each[0]), ord(each[-1]))
    return mask


UPPER, LOWER, DIGIT = of("AZ"), of("az"), of("09")
WORD = UPPER | LOWER | DIGIT | of("_")
_SPACES = of("\t", "\n", "\f", "\r", " ")

PERL = {"d": DIGIT, "s": _SPACES, "w": WORD}

_POSIX = {
    "alnum": UPPER | LOWER | DIGIT,
    "alpha": UPPER | LOWER,
    "ascii": EVERY,
    "blank": of("\t", " "),
    "cntrl": between(0, 31) | one(127),
    "digit": DIGIT,
    "graph": of("!~"),
    "lower": LOWER,
    "print": of(" ~"),
    "punct": of("!/", ":@", "[`", "{~"),
    "space": _SPACES | of("\v"),
    "upper": UPPER,
    "word": WORD,
    "xdigit": DIGIT | of("af", "AF"),
}
POSIX = {f"[:{title}:]": (mask, False) for title, mask in _POSIX.items()}
POSIX |= {f"[:^{title}:]": (mask, True) for title, mask in _POSIX.items()}
"""For each class, a mask, and whether the class is the complement of the mask."""

_CATEGORY_NAMES = "Lu Ll Lt Lm Lo Mn Me Mc Nd Nl No Zs Zl Zp Cc Cf Co Cs Pd Ps Pe Pc Po Sm Sc Sk So Pi Pf P S C Z L M N"
_SCRIPT_NAMES = """
Arabic Armenian Avestan Balinese Bamum Batak Bengali Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian
Cham Cherokee Common Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari Egyptian_Hieroglyphs Ethiopic Georgian
Glagolitic Gothic Greek Gujarati Gurmukhi Han Hangul Hanunoo Hebrew Hiragana Imperial_Aramaic Inherited
Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kayah_Li Kharoshthi Khmer Lao Latin Lepcha
Limbu Linear_B Lisu Lycian Lydian Malayalam Mandaic Meetei_Mayek Mongolian Myanmar New_Tai_Lue Nko Ogham Ol_Chiki
Old_Italic Old_Persian Old_South_Arabian Old_Turkic Oriya Osmanya Phags_Pa Phoenician Rejang Runic Samaritan Saurashtra
Shavian Sinhala Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Tamil Telugu Thaana Thai Tibetan
Tifinagh Ugaritic Unknown Vai Yi
"""
_CATEGORIES = frozenset(_CATEGORY_NAMES.split())
_SCRIPTS = frozenset(_SCRIPT_NAMES.split())


def is_unicode_class(title: str) -> bool:
    return title == "Any" or title in _CATEGORIES or title in _SCRIPTS


@cache
def unicode_class(title: str, *, folds: bool) -> Characters:
    """Return the characters of a Unicode category or script.

    Python has no script data. Beyond ASCII, the script is taken from the beginning of the character's name.
    """
    if title == "Any":
        return Characters(EVERY, all_beyond)
    if title in _CATEGORIES:
        mask = sum(1 << code for code in range(128) if category(chr(code)).startswith(title))

        def holds(code: int) -> bool:
            return category(chr(code)).startswith(title)
    else:
        latin = UPPER | LOWER
        prefix = "CJK " if title == "Han" else title.upper().replace("_", " ") + " "
        mask = latin if title == "Latin" else EVERY & ~latin if title == "Common" else 0

        def holds(code: int) -> bool:
            return name(normalize("NFC", chr(code))[0], "").startswith(prefix)

    if folds:
        return Characters(folded(mask), lambda code: any(map(holds, _variants(code))))
    return Characters(mask, holds)


def folded(mask: int, low: int = 0, high: int = 0) -> int:
    """Return the ASCII characters in both cases; `low` to `high` is the original range if it goes beyond ASCII."""
    mask |= (mask & UPPER) << 32 | (mask & LOWER) >> 32
    if low <= _LONG_S <= high:
        mask |= of("s", "S")
    if low <= _KELVIN <= high:
        mask |= of("k", "K")
    return mask
