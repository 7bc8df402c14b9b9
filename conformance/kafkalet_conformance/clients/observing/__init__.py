"""Observes the requests of clients and judges each of them strictly.

    Recorder ──> Sent (whole frames) ──> strict.py      the bytes of one request
                                    └──> rules/         the sequence of requests
                                              │
    Observation <── Finding <─────────────────┘

The public entry is `observe` in observation.py.
"""
