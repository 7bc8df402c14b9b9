"""Quoting of client strings in log lines."""

LONGEST = 100


def quoted(text: object) -> str:
    """Quote a client's string for a log line. Control characters are escaped, and long strings truncated (LONGEST).

    A name may have 32,767 characters, and a line feed in it would allow clients to forge log lines.
    """
    text = str(text)
    if len(text) <= LONGEST:
        return repr(text)
    return f"{text[:LONGEST]!r}... ({len(text)} characters)"
