"""The codecs of the conformance kit, with and without native code."""

import pytest

from kafkalet_conformance.notation import codecs
from kafkalet_conformance.notation.codecs import NAMES, compress, decompress

SOME = bytes(range(256)) * 1000


@pytest.fixture(params=["native", "python"])
def native(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(codecs, "cramjam", None)


@pytest.mark.usefixtures("native")
@pytest.mark.parametrize("codec", NAMES)
def test_compressed_data_can_be_decompressed(codec: str) -> None:
    assert decompress(codec, compress(codec, SOME)) == SOME


@pytest.mark.parametrize("codec", NAMES)
def test_python_reads_what_native_code_wrote(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = compress(codec, SOME)
    monkeypatch.setattr(codecs, "cramjam", None)
    assert decompress(codec, packed) == SOME


@pytest.mark.parametrize("codec", NAMES)
def test_native_code_reads_what_python_wrote(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(codecs, "cramjam", None)
        packed = compress(codec, SOME)
    assert decompress(codec, packed) == SOME


@pytest.mark.usefixtures("native")
def test_wrong_header_checksum_of_lz4_is_ignored() -> None:
    packed = bytearray(compress("lz4", SOME))
    packed[6] ^= 0xFF
    assert decompress("lz4", bytes(packed)) == SOME
