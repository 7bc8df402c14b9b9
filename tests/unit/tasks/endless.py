"""A call that ends only if it is interrupted."""

import threading

from kafkalet.protocol.records.interruption import Interrupted, check


class Endless:
    def __init__(self) -> None:
        self.begun, self.interrupted = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.begun.set()
        try:
            while True:
                check()
        except Interrupted:
            self.interrupted.set()
            raise
