"""A request's way to its handler, and its answer's way back.

    frame ── header ── advertised? ── gate ── decode ── intercept ── handle ── throttle ── encode ── pieces
               │            │          │        │                      │
               └────────────┴──────────┴────────┴── CloseConnection    ├── Delayed: the connection waits for it
                                                                       └── None: the client expects no answer
"""

from kafkalet.protocol.errors import ProtocolError


class CloseConnection(ProtocolError):
    """The peer is broken, or may not go on: its connection is closed without an answer. The text is the reason."""
