"""Texts of clients in log lines."""

LONGEST = 100


def quoted(text: object) -> str:
    """A client's text for a log line: in quotes, cut off after LONGEST characters, without control characters.

    A name may have 32,767 characters, and a line feed in it would begin a line of the log that the broker never wrote.
    """
    text = str(text)
    if len(text) <= LONGEST:
        return repr(text)
    return f"{text[:LONGEST]!r}... ({len(text)} characters)"
