"""Strings of clients in log lines: names in quotes, and sentences that may contain such names."""

LONGEST = 100
LONGEST_SENTENCE = 500


def quoted(text: object) -> str:
    """Quote a client's string for a log line. Control characters are escaped, and long strings truncated (LONGEST).

    A name may have 32,767 characters, and a line feed in it would allow clients to forge log lines.
    """
    text = str(text)
    if len(text) <= LONGEST:
        return repr(text)
    return f"{text[:LONGEST]!r}... ({len(text)} characters)"


def shown(sentence: object, longest: int = LONGEST_SENTENCE) -> str:
    """Return a sentence that may contain a client's strings: control characters escaped, truncated if it is long."""
    text = str(sentence)
    if len(text) > longest:
        text = f"{text[:longest]}... ({len(text)} characters)"
    return text if text.isprintable() else repr(text)[1:-1]
