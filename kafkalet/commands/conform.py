"""`kafkalet conform`: compares a broker with the recorded answers of Apache Kafka."""

from collections.abc import Sequence

from kafkalet.conformance.judging.judge import Options, judge
from kafkalet.conformance.results import BAD, ScenarioResult

from .command_line import Option, UsageError, parse, print_line

HELP = """usage: kafkalet conform --bootstrap HOST:PORT [OPTION]...
       kafkalet conform --between HOST:PORT HOST:PORT [OPTION]...
       kafkalet conform record RELEASE --bootstrap HOST:PORT [OPTION]...

Compares the answers of a broker with the recorded answers of Apache Kafka.

{options}
"""
OPTIONS = (
    Option("--bootstrap", "HOST:PORT", "the address of the broker"),
    Option("--against", "RELEASE", "the release to compare with, or nearest (nearest)"),
    Option("--only", "NAME,...", "only these areas and scenarios"),
)


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status: 0 if every scenario that ran is as Kafka, 1 if not."""
    if arguments[:1] == ["client"]:
        from .conform_client import main as client

        return client(arguments[1:])
    if arguments[:1] == ["record"]:
        from .conform_record import main as record

        return record(arguments[1:])
    if arguments[:1] == ["review"]:
        from .conform_record import review

        return review(arguments[1:])
    if arguments[:1] == ["--between"]:
        from .conform_between import main as between

        return between(arguments[1:])
    if {"-h", "--help"} & set(arguments):
        print_line(HELP.format(options="\n".join(f"  {each.name} {each.value}  {each.help}" for each in OPTIONS)))
        return 0
    given = parse(arguments, OPTIONS)
    if "bootstrap" not in given:
        raise UsageError("conform needs the address of a broker: kafkalet conform --bootstrap HOST:PORT")
    only = tuple(name for text in given.get("only", []) for name in text.split(","))
    run = judge(Options(given["bootstrap"][0], given.get("against", ["nearest"])[0], only), show)
    print_line(", ".join(f"{count} {outcome}" for outcome, count in run.counts().items()))
    return int(any(result.outcome in BAD for result in run.results))


def show(result: ScenarioResult) -> None:
    print_line(f"{result.outcome:12} {result.scenario.name} {result.duration_s:.1f} s {result.reason}")
    for case in result.cases:
        if case.outcome in BAD:
            print_line(f"    {case.api} v{case.version} {case.name!r}: {case.reason}")
            for difference in case.differences[:8]:
                print_line(f"        {difference}")
