"""Timestamp lookup in logs of a thousand and of a million batches: the time should grow logarithmically at most."""

import time

import kafkalet
from kafkalet.protocol.records.batch import Record
from kafkalet.protocol.records.build import build_batch
from kafkalet.storage.lookup import find
from kafkalet.tasks.task import finish

START_MS = 1_700_000_000_000
SEARCHES = 2000


def lookup_us(batches: int) -> float:
    """Return the microseconds per lookup, for timestamps spread over a log of `batches` one-record batches."""
    with kafkalet.Broker(config={"log.retention.ms": "-1"}, topics=["t"]) as broker:
        log = broker.topic("t").log()._log
        at = 0
        while at < batches:
            count = min(1000, batches - at)

            def append(first: int = at, count: int = count) -> None:
                for index in range(first, first + count):
                    log.append_as_leader(bytearray(build_batch([Record(0, START_MS + index, None, b"value", ())])), 0)

            broker._server.call(append)
            at += count

        def search() -> float:
            log.maybe_increment_high_watermark(log.log_end_offset)
            targets = [START_MS + batches * step // SEARCHES for step in range(SEARCHES)]
            begun = time.perf_counter()
            for target in targets:
                found = finish(find(log, target))
                assert found is not None
                assert found.timestamp == target
            return (time.perf_counter() - begun) / SEARCHES * 1e6

        broker._server.call(search)
        return broker._server.call(search)


def main() -> None:
    for batches in (1_000, 1_000_000):
        print(f"{f'timestamp lookup, {batches:,} batches':<40}{'us':<12}{lookup_us(batches):>14.1f}", flush=True)


if __name__ == "__main__":
    main()
