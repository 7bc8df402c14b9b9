"""The directory of a partition with several segments, transactions and leader epochs, to be damaged by tests."""

import shutil
from pathlib import Path

from kafkalet.inspection.faults import Finding, Report, Severity
from kafkalet.inspection.partition_check import check_partition
from tests.unit.storage.place import CONFIG, Place
from tests.unit.storage.producing import T0, record

SMALL = CONFIG._replace(segment_bytes=3000, index_interval_bytes=300)
SEGMENT = "00000000000000000000"


def build(path: Path) -> Path:
    """Build a data directory that was closed cleanly, and return it. The partition is t-0."""
    place = Place(path, SMALL, durable=True)
    for number in range(40):
        place.append(
            *(record(T0 + number * 10 + each, key=f"k{each}", value="x" * 30) for each in range(3)),
            producer_id=9, producer_epoch=0, base_sequence=3 * number,
        )  # fmt: skip
        if number % 10 == 4:
            place.append(record(T0 + 5000 + number), producer_id=7, producer_epoch=0, base_sequence=2 * (number // 10),
                         transactional=True)  # fmt: skip
            place.append(record(T0), producer_id=8, producer_epoch=1, base_sequence=number // 10, transactional=True)
            place.append(record(T0), producer_id=7, producer_epoch=0, base_sequence=2 * (number // 10) + 1,
                         transactional=True)  # fmt: skip
            place.end_transaction(7, commit=number == 14)
            place.end_transaction(8, commit=number == 24, epoch=1)
    place.append(record(T0 + 9000), producer_id=7, producer_epoch=0, base_sequence=8, transactional=True)
    place.directory.close()
    return path


def copy(source: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(source, target))


def findings(partition: Path, *, is_clean: bool = True) -> list[Finding]:
    """Return the faults and notes of a partition."""
    found: list[Finding] = []
    check_partition(str(partition), Report(found.append), is_clean=is_clean)
    return found


def faults(partition: Path, *, is_clean: bool = True) -> list[tuple[str, int | None, str]]:
    """Return file name, position and check of each fault."""
    return [
        (Path(each.path).name, each.position, each.check)
        for each in findings(partition, is_clean=is_clean)
        if each.severity is Severity.FAULT
    ]
