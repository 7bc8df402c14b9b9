"""How much time one segment may hold (when it rolls: test_segment.py)."""

from kafkalet.storage.config import LogConfig
from kafkalet.storage.rolling import jitter_ms, max_segment_ms


def test_a_compacted_log_also_rolls_by_its_compaction_lag() -> None:
    compacted = LogConfig(cleanup_policy=frozenset({"compact"}), max_compaction_lag_ms=500, segment_ms=1000)
    assert max_segment_ms(compacted) == 500
    assert max_segment_ms(compacted._replace(segment_ms=100)) == 100
    assert max_segment_ms(compacted._replace(cleanup_policy=frozenset({"delete"}))) == 1000


def test_jitter_is_a_random_part_of_what_is_allowed_and_less_than_the_time() -> None:
    assert jitter_ms(LogConfig()) == 0
    seen = {jitter_ms(LogConfig(segment_jitter_ms=10)) for _ in range(300)}
    assert len(seen) > 5
    assert seen <= set(range(10))
    assert {jitter_ms(LogConfig(segment_jitter_ms=10, segment_ms=2)) for _ in range(100)} == {0, 1}
