"""`kafkalet conform diff`: compares two JSON reports of `kafkalet conform`."""

import json
import sys
from collections.abc import Sequence

from kafkalet.commands.command_line import Option, UsageError, separate

from .output import check_files, output_of, print_lines, read_report, style_of, write_file

OPTIONS = (
    Option("--json", "FILE", "write the changes as JSON (-: to standard output)"),
    Option("--verbose", "", "print every change"),
    Option("--help", "", "print this help and exit", aliases=("-h",)),
)
HELP = """\
usage: kafkalet conform diff EARLIER.json LATER.json [OPTION]...

Show what changed between two JSON reports: what is no longer as Kafka, what is fixed, what
differs in another way, and what only one of the runs judged.

{options}

Exit status: 0 if everything that was as Kafka still is, 1 if not, 2 if a file cannot be read.
"""


def main(arguments: Sequence[str]) -> int:
    """Run the command with the arguments after `conform diff`. Return the exit status.

    Raises UsageError for invalid arguments and files.
    """
    files, given = separate(arguments, lambda _: (OPTIONS, "conform diff"))
    if "help" in given:
        from kafkalet.commands.help import filled, option_lines

        print_lines(filled(HELP.format(options=option_lines(OPTIONS))).splitlines(), sys.stdout)
        return 0
    if len(files) != 2:
        raise UsageError(f"conform diff needs two JSON reports, not {len(files)}: conform diff EARLIER.json LATER.json")
    from kafkalet_conformance.reports.comparison import as_json, compare
    from kafkalet_conformance.reports.terminal import compared

    check_files(given, ("json",))
    comparison = compare(*(read_report("", file) for file in files))
    stream = output_of(given)
    print_lines(compared(comparison, style_of(given, stream)), stream)
    if "json" in given:
        write_file("--json", given["json"][0], json.dumps(as_json(comparison), indent=1) + "\n")
    return comparison.exit_status
