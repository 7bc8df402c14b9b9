"""Garbage collections that stay cheap in a long run."""

import gc


def collect_and_freeze() -> None:
    """Collect garbage, and exclude what is left from later collections.

    Clients leave reference cycles with open sockets, so many tests collect garbage when they end. The parsed sources,
    transcripts and modules that a worker keeps until the end are millions of objects: visiting them takes seconds.
    Call this before a test, when the objects of the previous test are gone: frozen objects are never freed.
    """
    gc.collect()
    gc.freeze()
