"""Classes of characters in regular expressions, as far as names of topics go: sets of the 128 ASCII characters.

A set is a number whose bit n stands for the character n. Names of topics hold no others, so of what is beyond only
two matter: the long s and the Kelvin sign, which are an s and a k where case does not count.

Source: com.google.re2j.CharGroup, UnicodeTables.
"""

from unicodedata import category

EVERY = (1 << 128) - 1

_LONG_S, _KELVIN = 0x17F, 0x212A


def between(low: int, high: int) -> int:
    """The characters from `low` to `high`, both included."""
    high = min(high, 127)
    return (1 << high + 1) - (1 << low) if low <= high else 0


def one(code: int) -> int:
    return between(code, code)


def of(*ranges: str) -> int:
    """The characters of ranges such as "AZ", or of single ones."""
    mask = 0
    for each in ranges:
        mask |= between(ord(each[0]), ord(each[-1]))
    return mask


UPPER, LOWER, DIGIT = of("AZ"), of("az"), of("09")
WORD = UPPER | LOWER | DIGIT | of("_")
_SPACES = of("\t", "\n", "\f", "\r", " ")

PERL = {"d": DIGIT, "s": _SPACES, "w": WORD}
PERL |= {name.upper(): EVERY & ~mask for name, mask in PERL.items()}

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
POSIX = {f"[:{name}:]": mask for name, mask in _POSIX.items()}
POSIX |= {f"[:^{name}:]": EVERY & ~mask for name, mask in _POSIX.items()}

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


def unicode_class(name: str) -> int | None:
    """The characters of a category or script of Unicode; None where there is none of that name."""
    if name == "Any":
        return EVERY
    if name in _CATEGORIES:
        return sum(1 << code for code in range(128) if category(chr(code)).startswith(name))
    if name in _SCRIPTS:
        latin = UPPER | LOWER
        return latin if name == "Latin" else EVERY & ~latin if name == "Common" else 0
    return None


def folded(mask: int, low: int = 0, high: int = 0) -> int:
    """The same set where case does not count; `low` to `high` is where it came from, if beyond ASCII."""
    mask |= (mask & UPPER) << 32 | (mask & LOWER) >> 32
    if low <= _LONG_S <= high:
        mask |= of("s", "S")
    if low <= _KELVIN <= high:
        mask |= of("k", "K")
    return mask
