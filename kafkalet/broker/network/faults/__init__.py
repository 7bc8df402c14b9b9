"""Fault injection: requests that a test wants to fail, to wait, or to lose their response.

    engine.py     the faults of a cluster, and what each does to a request (the hook `Router.intercept`)
    rule.py       one fault: which requests it matches, which of these it fires on, and what it has seen
    items.py      the topics, partitions and groups of a request, whatever its API
    refusals.py   error responses for a whole request or a part of it, whatever its API
    shaping.py    the bytes of a response: corrupt, truncated, slow (the hook `Router.shaping`)

Nothing here is imported until the first fault is set. `kafkalet.testing.faults` is the public interface.
"""
