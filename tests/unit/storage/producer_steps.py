"""Helpers for the tests of producer states: append, be refused, restart."""

import pytest

from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.batch import Batch
from kafkalet.storage.files import Files
from kafkalet.storage.producers import ProducerStates
from kafkalet.storage.refusals import AppendRefused
from kafkalet.storage.values import AbortedTransaction, Origin

from .producing import logged


def again(states: ProducerStates) -> ProducerStates:
    """Return the states after a restart in the same directory, before any replay."""
    return ProducerStates(states.snapshots.directory, Files(durable=False))


def append(states: ProducerStates, *batches: Batch, origin: Origin = Origin.CLIENT) -> list[AbortedTransaction]:
    change = states.prepare(batches, origin)
    assert change.duplicate is None
    aborted = states.commit(change)
    states.end_offset = batches[-1].next_offset
    return aborted


def sent(offset: int, sequence: int, count: int = 1, *, epoch: int = 0, producer: int = 7, **fields: object) -> Batch:
    """Return a producer's batch of `count` records at `offset`."""
    return logged(offset, count, producer_id=producer, producer_epoch=epoch, base_sequence=sequence, **fields)


def in_transaction(offset: int, sequence: int, count: int = 1, *, epoch: int = 0, producer: int = 7) -> Batch:
    return sent(offset, sequence, count, epoch=epoch, producer=producer, transactional=True)


def refused(states: ProducerStates, batch: Batch, origin: Origin = Origin.CLIENT, **how: int) -> Code:
    """Return the error code for `batch`, and check that the refusal changes nothing."""
    before = [repr(entry) for entry in states.active()], states.first_unstable
    with pytest.raises(AppendRefused) as caught:
        states.prepare([batch], origin, **how)  # type: ignore[arg-type]
    assert ([repr(entry) for entry in states.active()], states.first_unstable) == before
    assert caught.value.message is None
    return caught.value.code
