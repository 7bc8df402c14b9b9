"""Garbage collections that stay cheap in a long run."""

import gc


def collect() -> None:
    """Collect garbage, and exclude what is left from later collections.

    Clients leave reference cycles with open sockets, so many tests collect garbage when they end. The parsed sources,
    transcripts and modules that a worker keeps until the end are millions of objects: visiting them takes seconds.
    """
    gc.collect()
    gc.freeze()
