"""Producer ids are given once, also across a crash."""

from kafkalet.broker.cluster.producer_ids import BLOCK, ProducerIds


def test_ids_rise_one_by_one() -> None:
    ids = ProducerIds(0, lambda end: None)
    assert [ids.take() for _ in range(2 * BLOCK + 1)] == list(range(2 * BLOCK + 1))


def test_the_end_of_a_block_is_kept_before_its_first_id_is_given() -> None:
    kept: list[int] = []
    ids = ProducerIds(5, kept.append)
    assert not kept
    ids.take()
    assert kept == [5 + BLOCK]


def test_after_a_crash_no_id_is_given_again() -> None:
    kept: list[int] = [0]
    before = ProducerIds(0, kept.append)
    given = {before.take() for _ in range(BLOCK + 3)}
    after = ProducerIds(kept[-1], kept.append)
    assert given.isdisjoint(after.take() for _ in range(BLOCK))
