"""Histories of consumer groups (KIP-848): random walks as in `kafkalet/conformance/scenarios/consumer_walks.py`."""

from kafkalet.conformance.scenarios.consumer_walks import Walk

from .history import History


def consumers(h: History) -> None:
    assignor = h.of("range", "uniform")
    Walk(h, h.dice, assignor, with_classic=h.chance(0.4), with_topics=h.chance(0.5)).go(h.dice.randint(20, 60))
