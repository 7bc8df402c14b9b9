import traceback

import pytest

from kafkalet.protocol import compiler
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest


def test_source_of_compiled_function_is_available() -> None:
    text = compiler.source(compiler.decoder(ListOffsetsRequest, 7))
    assert text.startswith("def decode(data, p):\n")
    assert "o2.partition_index, o2.current_leader_epoch, o2.timestamp, n = unpack_iiqB(data, p); p += 17" in text


def test_traceback_shows_the_generated_line() -> None:
    decode = compiler.decoder(ListOffsetsRequest, 7)
    with pytest.raises(Exception, match="unpack") as raised:
        decode(b"", 0)
    shown = "".join(traceback.format_exception(raised.value))
    assert 'File "<kafkalet ListOffsetsRequest v7 decode>"' in shown
    assert "o.replica_id, o.isolation_level, n = unpack_ibB(data, p)" in shown


def test_initializer_takes_fields_as_keyword_arguments() -> None:
    text = compiler.source(compiler.initializer(ListOffsetsRequest.Topic.Partition))
    assert text.splitlines()[0] == (
        "def __init__(self, *, partition_index, current_leader_epoch=-1, timestamp, max_num_offsets=1):"
    )
