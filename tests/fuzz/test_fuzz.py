"""A small share of the fuzzer in every run of the tests; `make fuzz` is the whole of it."""

import random

from .campaign import run
from .corpus import corpus
from .mutations import MUTATIONS, mutate

INPUTS = 3000


def test_the_corpus_covers_every_served_api() -> None:
    from kafkalet.broker.apis import SERVED

    keys = {int.from_bytes(frame[:2], "big") for frame in corpus()}
    assert set(SERVED) <= keys
    assert len(corpus()) > 500


def test_mutations_change_frames_and_never_fail() -> None:
    chance = random.Random(1)
    changed = sum(mutate(chance, frame, b"other") != frame for frame in corpus())
    assert changed > 0.9 * len(corpus())


def test_every_mutation_bears_the_shortest_frame() -> None:
    for mutation in MUTATIONS:
        for seed in range(20):
            mutation(random.Random(seed), bytearray(b"x"))


def test_a_broker_bears_broken_frames() -> None:
    tried = run(INPUTS, seed=2)
    print(tried)
    assert tried.inputs == INPUTS
    assert tried.closed > 0
    assert tried.answered > 0
