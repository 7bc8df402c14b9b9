"""Frequent keys and the number of distinct keys, in bounded memory."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kafkalet_spark.audit.keys import CAPACITY, SMALLEST, Keys, hashes

words = st.lists(st.one_of(st.none(), st.binary(max_size=6)), max_size=60)


def sketch(*parts: list[bytes | None]) -> Keys:
    keys = Keys()
    for part in parts:
        keys = keys.with_keys(pa.array(part, pa.binary()))
    return keys


def counts(keys: Keys) -> dict[bytes, int]:
    return {} if keys.key is None else dict(zip(keys.key.to_pylist(), keys.counts.tolist(), strict=True))


@given(words, words)
def test_few_keys_are_counted_exactly(one: list[bytes | None], other: list[bytes | None]) -> None:
    expected = Counter(key for key in [*one, *other] if key is not None)
    for keys in (sketch(one, other), sketch(other, one), sketch(one).merged_with(sketch(other))):
        assert counts(keys) == expected
        assert keys.too_low_by == 0
        assert (keys.distinct, keys.distinct_is_exact) == (len(expected), True)
        assert (keys.records, keys.without_key) == (len(one + other), (one + other).count(None))


def test_most_frequent_key_comes_first() -> None:
    keys = sketch([b"a"] * 3 + [b"b"] * 5 + [b"c"])
    assert keys.key.to_pylist() == [b"b", b"a", b"c"]


def test_frequent_keys_are_kept_among_many() -> None:
    chance = np.random.default_rng(1)
    keys = Keys()
    expected: Counter[bytes] = Counter()
    for _ in range(20):
        part = [b"%d" % at for at in chance.integers(0, 100_000, 5000)] + [b"heavy"] * 400 + [b"less"] * 150
        expected.update(part)
        keys = keys.with_keys(pa.array(part, pa.binary()))
    assert len(keys.key) <= CAPACITY
    assert keys.key.to_pylist()[:2] == [b"heavy", b"less"]
    for key, count in counts(keys).items():
        assert expected[key] - keys.too_low_by <= count <= expected[key]
    assert keys.too_low_by <= keys.records / CAPACITY
    assert not keys.distinct_is_exact
    assert abs(keys.distinct / len(expected) - 1) < 0.07


def test_the_sketch_is_bounded() -> None:
    keys = sketch([b"%d" % at for at in range(50_000)])
    assert keys.smallest.size == SMALLEST
    assert keys.key is None or len(keys.key) <= CAPACITY


@given(st.lists(st.binary(max_size=40), max_size=30))
def test_hash_of_a_key_does_not_depend_on_its_position(values: list[bytes]) -> None:
    both = hashes(pa.array(values + values[::-1], pa.binary()))
    assert both[: len(values)].tolist() == both[len(values) :][::-1].tolist()
    sliced = hashes(pa.array([b"xyz", *values], pa.binary())[1:])
    assert sliced.tolist() == both[: len(values)].tolist()
    assert len(set(both.tolist())) == len(set(values))


def test_large_keys_are_hashed_block_by_block() -> None:
    values = [bytes([at]) * (400_000 + at) for at in range(6)]
    alone = [int(hashes(pa.array([value], pa.binary()))[0]) for value in values]
    assert hashes(pa.array(values, pa.binary())).tolist() == alone
