"""Producer ids are used only once, even after a crash."""

from kafkalet.broker.cluster.producer_ids import BLOCK, ProducerIds


def test_ids_are_consecutive() -> None:
    ids = ProducerIds(0, lambda end: None)
    assert [ids.take() for _ in range(2 * BLOCK + 1)] == list(range(2 * BLOCK + 1))


def test_end_of_block_is_saved_before_first_id_is_used() -> None:
    kept: list[int] = []
    ids = ProducerIds(5, kept.append)
    assert not kept
    ids.take()
    assert kept == [5 + BLOCK]


def test_no_id_is_reused_after_crash() -> None:
    kept: list[int] = [0]
    before = ProducerIds(0, kept.append)
    given = {before.take() for _ in range(BLOCK + 3)}
    after = ProducerIds(kept[-1], kept.append)
    assert given.isdisjoint(after.take() for _ in range(BLOCK))


def test_ids_in_use_are_skipped() -> None:
    kept: list[int] = []
    ids = ProducerIds(5, kept.append)
    ids.skip(3)
    assert ids.next_id == 5
    ids.skip(41)
    assert [ids.take(), *kept] == [42, 42 + BLOCK]
