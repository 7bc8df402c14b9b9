"""Fault injection: a test makes requests fail, wait, or lose their responses.

    engine.py     the faults of a cluster, and their effects on requests (the hook `Hooks.intercept`)
    rule.py       one fault: the requests that it matches, on which of them it fires, and its counters
    refusals.py   error responses for a whole request or a part of it, whatever its API
    shaping.py    the bytes of a response: corrupt, truncated, slow (the hook `Hooks.shaping`)

Nothing here is imported until the first fault is set. `kafkalet.testing.faults` is the public interface.
"""
