import pytest

from kafkalet.protocol.records.xxh64 import xxh64


@pytest.mark.parametrize(
    ("data", "digest"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
        (bytes(range(32)), 0xCBF59C5116FF32B4),
        (bytes(range(256)) * 10, 0x33FFECC78862A044),
        (bytes(range(47)), 0x0D9883A03E7BFBB8),
    ],
)
def test_xxh64_has_its_known_values(data: bytes, digest: int) -> None:
    assert xxh64(data) == digest
