"""Hypothesis strategies for valid and damaged records."""

from hypothesis import strategies as st

from kafkalet.protocol.records.record import Headers, Record

NOW = 1_600_000_000_000

fields = st.one_of(
    st.none(),
    st.binary(max_size=80),
    st.builds(bytes, st.sampled_from([63, 64, 65, 8191, 8192])),
)
header_keys = st.text(max_size=5)
headers: st.SearchStrategy[Headers] = st.lists(
    st.tuples(header_keys, st.one_of(st.none(), st.binary(max_size=70))), max_size=3
).map(tuple)
timestamps = st.one_of(
    st.integers(-200, 200).map(lambda delta: NOW + delta),
    st.integers(0, 1 << 40),
    st.just(-1),
)


@st.composite
def record_lists(draw: st.DrawFn, max_groups: int = 5, *, with_headers: bool = True) -> list[Record]:
    """Generate groups of records with the same shape within a group, so that the fast readers find long runs."""
    records: list[Record] = []
    for _ in range(draw(st.integers(0, max_groups))):
        length = draw(st.sampled_from([1, 2, 15, 16, 17, 40, 64, 130]))
        key, value = draw(fields), draw(fields)
        some_headers = draw(headers) if with_headers else ()
        first, step = draw(timestamps), draw(st.sampled_from([0, 0, 1, 7, -1, 100]))
        for index in range(length):
            timestamp = max(-1, first + index * step)
            records.append(Record(len(records), timestamp, key, value, some_headers))
    return records


@st.composite
def damaged(draw: st.DrawFn, data: bytes, first: int = 0) -> bytes:
    """Generate damaged variants of `data`: bytes after `first` are changed, removed, duplicated or truncated."""
    damage = bytearray(data)
    for _ in range(draw(st.integers(1, 3))):
        if len(damage) <= first:
            break
        at = draw(st.integers(first, len(damage) - 1))
        kind = draw(st.sampled_from(["change", "nudge", "remove", "double", "cut", "add"]))
        if kind == "change":
            damage[at] = draw(st.integers(0, 255))
        elif kind == "nudge":
            damage[at] = damage[at] + draw(st.sampled_from([1, 2, -1, -2, 128])) & 255
        elif kind == "remove":
            del damage[at]
        elif kind == "double":
            damage[at:at] = damage[at : at + 1]
        elif kind == "cut":
            del damage[at:]
        else:
            damage += draw(st.binary(min_size=1, max_size=3))
    return bytes(damage)
