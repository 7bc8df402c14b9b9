"""`kafkalet.broker.quotas.meters`: rates over windows, token buckets and throttle times."""

from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.quotas.meters import SampledRate, SimpleRate, TokenBucket

T0 = 1_600_000_000_000


def test_idle_client_may_use_the_quota_of_ten_windows_in_a_burst() -> None:
    rate = SampledRate(11, 1000)
    rate.record(100_000, T0)
    assert rate.throttle_ms(10_000, T0) == 0
    rate.record(1000, T0)
    assert rate.throttle_ms(10_000, T0) == 100


def test_throttle_time_ends_when_the_rate_is_down_to_the_quota() -> None:
    rate = SampledRate(11, 1000)
    rate.record(120_000, T0)
    assert rate.throttle_ms(10_000, T0) == 2000, "12,000 per second over 10 seconds exceed the quota by 2,000"


def test_rate_decreases_over_time() -> None:
    rate = SampledRate(11, 1000)
    rate.record(120_000, T0)
    assert rate.throttle_ms(10_000, T0 + 500) == 1500
    assert rate.throttle_ms(10_000, T0 + 2000) == 2000, "the current window and ten full windows count"
    assert rate.throttle_ms(10_000, T0 + 11_000) == 0, "usage older than all windows does not count"


def test_simple_rate_averages_over_the_time_since_the_first_usage() -> None:
    rate = SimpleRate(11, 1000)
    rate.record(40_000, T0)
    assert rate.throttle_ms(10_000, T0) == 3000, "the first window counts as a whole one"
    assert rate.throttle_ms(10_000, T0 + 3999) > 0
    assert rate.throttle_ms(10_000, T0 + 4000) == 0
    rate.record(10_000, T0 + 4000)
    assert rate.throttle_ms(10_000, T0 + 4000) == 1000


def test_negative_value_reverts_a_record() -> None:
    rate = SampledRate(11, 1000)
    rate.record(120_000, T0)
    rate.record(-120_000, T0)
    assert rate.throttle_ms(10_000, T0) == 0


@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 200_000)), min_size=1, max_size=60))
def test_throttle_time_is_zero_after_the_throttle_time_and_all_windows(uses: list[tuple[int, int]]) -> None:
    rate = SampledRate(11, 1000)
    now_ms = T0
    for pause_ms, value in uses:
        now_ms += pause_ms
        rate.record(value, now_ms)
        assert rate.throttle_ms(10_000, now_ms) >= 0
    assert rate.throttle_ms(10_000, now_ms + 11_000) == 0


def test_bucket_is_full_at_first() -> None:
    bucket = TokenBucket(11)
    bucket.take(22, 2, T0)
    assert bucket.throttle_ms(2, T0) == 0
    bucket.take(3, 2, T0)
    assert bucket.throttle_ms(2, T0) == 1500


def test_bucket_is_refilled_at_the_rate_of_the_quota() -> None:
    bucket = TokenBucket(11)
    bucket.take(25, 2, T0)
    assert bucket.throttle_ms(2, T0 + 1000) == 500
    assert bucket.throttle_ms(2, T0 + 1500) == 0
    bucket.take(22, 2, T0 + 60_000)
    assert bucket.throttle_ms(2, T0 + 60_000) == 0, "the bucket does not exceed its capacity"
    bucket.take(1, 2, T0 + 60_000)
    assert bucket.throttle_ms(2, T0 + 60_000) == 500
