"""The hashes by which keys are compared."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kafkalet_spark.audit.key_hashes import hashes


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
