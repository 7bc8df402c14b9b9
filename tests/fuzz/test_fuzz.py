"""A few malformed requests; run `make fuzz` for more."""

import random

from .campaign import run
from .corpus import corpus
from .mutations import MUTATIONS, mutate

INPUTS = 3000


def test_corpus_covers_every_supported_api() -> None:
    from kafkalet.broker.served import SERVED

    keys = {int.from_bytes(frame[:2], "big") for frame in corpus()}
    assert set(SERVED) <= keys
    assert len(corpus()) > 500


def test_mutations_change_frames_without_errors() -> None:
    chance = random.Random(1)
    changed = sum(mutate(chance, frame, b"other") != frame for frame in corpus())
    assert changed > 0.9 * len(corpus())


def test_every_mutation_accepts_a_frame_of_one_byte() -> None:
    for mutation in MUTATIONS:
        for seed in range(20):
            mutation(random.Random(seed), bytearray(b"x"))


def test_broker_tolerates_malformed_frames() -> None:
    tried = run(INPUTS, seed=2)
    print(tried)
    assert tried.inputs == INPUTS
    assert tried.closed > 0
    assert tried.answered > 0
