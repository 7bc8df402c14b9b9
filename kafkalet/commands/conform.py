"""`kafkalet conform`: compares a broker with the recorded answers of Apache Kafka."""

from collections.abc import Mapping, Sequence

from kafkalet.conformance.judging.judge import JOBS, NEAREST, REPEAT, Announcement, CannotJudge, Options, judge
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
    Option("--jobs", "N", "how many scenarios run at the same time (8)"),
    Option("--repeat", "N", "how often a scenario that differs is repeated (2)"),
    Option("--timeout", "SECONDS", "the limit for the whole run"),
    Option("--disposable", "", "also run scenarios that change the configuration of the whole cluster"),
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
    options = Options(
        given["bootstrap"][0],
        given.get("against", [NEAREST])[0],
        only,
        jobs=int(_number(given, "jobs", JOBS, least=1)),
        repeat=int(_number(given, "repeat", REPEAT, least=0)),
        timeout_s=_number(given, "timeout", 0, least=1) if "timeout" in given else None,
        disposable="disposable" in given,
    )
    try:
        run = judge(options, show, announce)
    except CannotJudge as error:
        print_line(f"kafkalet conform: {error}")
        return 2
    print_line(", ".join(f"{count} {outcome}" for outcome, count in run.counts().items()))
    return int(any(result.outcome in BAD for result in run.results))


def _number(given: Mapping[str, Sequence[str]], name: str, default: float, least: int) -> float:
    text = given.get(name, [str(default)])[0]
    try:
        number = float(text)
    except ValueError:
        number = least - 1
    if not least <= number < 1e9 or (number % 1 and name != "timeout"):
        raise UsageError(f"--{name} {text}: expected a number from {least}")
    return number


def announce(announcement: Announcement) -> None:
    print_line(
        f"{announcement.scenarios} scenarios against Apache Kafka {announcement.against}; "
        f"the run ends within {announcement.limit_s:.0f} s"
    )


def show(result: ScenarioResult) -> None:
    print_line(f"{result.outcome:12} {result.scenario.name} {result.duration_s:.1f} s {result.reason}")
    for case in result.cases:
        if case.outcome in BAD:
            print_line(f"    {case.api} v{case.version} {case.name!r}: {case.reason}")
            for difference in case.differences[:8]:
                print_line(f"        {difference}")
