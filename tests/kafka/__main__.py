"""The command line of Kafka's tests, `python -m tests.kafka`; see the package."""

import argparse
import sys
from zlib import crc32

from .jvm import HERE, ROOT, Jvm
from .outcomes import Line, Outcome, causes, explain, lines, on_kafka, read, save

HOME = ROOT / "build" / "kafka-tests"


def groups() -> list[list[str]]:
    """Return the classes of each group of `classes.txt`."""
    text = (HERE / "classes.txt").read_text(encoding="utf-8")
    return [block.splitlines()[1:] for block in text.strip().split("\n\n")]


def run(selectors: list[str], jvm: Jvm, seconds: int) -> list[Line] | None:
    """Run classes and methods in one JVM. Return the outcomes, or None if there was not enough time for all tests."""
    key = f"{crc32(' '.join(selectors).encode()):08x}"
    first, again, kafka = (HOME / f"{key}.{name}.tsv" for name in ("kafkalet", "again", "kafka"))
    if not jvm.run("kafkalet", first, selectors, seconds):
        return None
    known = causes()
    results = read(first)
    for path, broker in ((again, "kafkalet"), (kafka, "kafka")):
        passed = {result.id for result in read(again) if result.status == "PASSED"}
        open_ids = [result.id for result in results if explain(result, known) is None and result.id not in passed]
        if open_ids and not jvm.run(broker, path, open_ids, seconds):
            return None
    others = read(kafka)
    repeated = {result.id: result for result in read(again) if result.status == "PASSED"}
    final = [repeated.get(result.id, result) for result in results]
    for path in (first, again, kafka):
        path.unlink(missing_ok=True)
    return lines((result, explain(result, known) or on_kafka(result, others)) for result in final)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kafka", description="Run Kafka's own tests on kafkalet.")
    parser.add_argument("classes", nargs="*", metavar="CLASS[#METHOD]", help="tests to run (default: all classes)")
    parser.add_argument("--seconds", type=int, default=14400, help="time for a JVM (default: %(default)s)")
    parser.add_argument("--test-seconds", type=int, default=180, help="time for a test (default: %(default)s)")
    parser.add_argument("--journal", action="store_true", help="keep a journal of each cluster")
    options = parser.parse_args()
    jvm = Jvm(HOME, options.test_seconds, options.journal)
    jvm.prepare()
    failed = False
    for selectors in [options.classes] if options.classes else groups():
        found = run(selectors, jvm, options.seconds)
        if found is None:
            print("not finished: the next run with the same tests continues", flush=True)
            return 1
        for line in sorted(found):
            print(*line, sep="\t", flush=True)
        failed |= any(line.outcome is Outcome.DIFFERS for line in found)
        save([line for line in found if line.test_class in selectors])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
