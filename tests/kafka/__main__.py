"""The command line of Kafka's tests, `python -m tests.kafka`; see the package."""

import argparse
import sys

from .jvm import HERE, ROOT, Jvm
from .outcomes import Line, Outcome, causes, explain, lines, on_kafka, read, save

HOME = ROOT / "build" / "kafka-tests"


def all_classes() -> list[str]:
    text = (HERE / "classes.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def run(selector: str, jvm: Jvm, seconds: int) -> list[Line] | None:
    """Run a class or a method. Return the outcomes, or None if there was not enough time for all tests."""
    first, again, kafka = (HOME / f"{selector}.{name}.tsv" for name in ("kafkalet", "again", "kafka"))
    if not jvm.run("kafkalet", first, [selector], seconds):
        return None
    known = causes()
    results = read(first)
    for path, broker in ((again, "kafkalet"), (kafka, "kafka")):
        passed = {result.id for result in read(again) if result.status == "PASSED"}
        open_ids = [result.id for result in results if explain(result, known) is None and result.id not in passed]
        if open_ids and not jvm.run(broker, path, open_ids, seconds):
            return None
    statuses = {result.id: result.status for result in read(kafka)}
    repeated = {result.id: result for result in read(again) if result.status == "PASSED"}
    final = [repeated.get(result.id, result) for result in results]
    for path in (first, again, kafka):
        path.unlink(missing_ok=True)
    return lines((result, explain(result, known) or on_kafka(result, statuses.get(result.id))) for result in final)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kafka", description="Run Kafka's own tests on kafkalet.")
    parser.add_argument("classes", nargs="*", metavar="CLASS[#METHOD]", help="tests to run (default: all classes)")
    parser.add_argument("--class-seconds", type=int, default=1800, help="time for a class (default: %(default)s)")
    parser.add_argument("--test-seconds", type=int, default=90, help="time for a test (default: %(default)s)")
    parser.add_argument(
        "--journal", action="store_true", help="write a journal of each cluster to build/kafka-tests/logs"
    )
    options = parser.parse_args()
    jvm = Jvm(HOME, options.test_seconds, options.journal)
    jvm.prepare()
    failed = False
    for selector in options.classes or all_classes():
        found = run(selector, jvm, options.class_seconds)
        if found is None:
            print(f"{selector}: not finished; the next run continues", flush=True)
            failed = True
            continue
        for line in sorted(found):
            print(*line[:2], *map(str, line[2:]), sep="\t", flush=True)
        failed |= any(line.outcome is Outcome.DIFFERS for line in found)
        if "#" not in selector:
            save(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
