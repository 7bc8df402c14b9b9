"""`kafkalet top`: the state of the brokers in a terminal (see kafkalet.control.top).

Exit status: 0 after q or a single view, 1 if the control API cannot be reached, 2 if the command line is invalid, and
128 plus the number of a signal.
"""

import sys
from collections.abc import Sequence

from kafkalet.control.client import ControlError

from .command_line import HELP_OPTION, Failure, Option, parse, print_error, print_line
from .control import CLIENT_OPTIONS, client_of, variable

OPTIONS = (
    *CLIENT_OPTIONS,
    Option("--once", "", "print the state once; the default if the output is not a terminal, and on Windows"),
    HELP_OPTION,
)
HELP = """Shows the topics, groups, transactions, faults and requests of a kafkalet serve --control process, live,
until q is pressed. The last line of the screen shows the keys.

The environment variable NO_COLOR turns colors off."""


def main(arguments: Sequence[str]) -> int:
    """Run `kafkalet top` and return its exit status."""
    given = parse(arguments, OPTIONS, "top")
    if "help" in given:
        from .help import help_page

        print_line(help_page("kafkalet top [OPTION]...", HELP, OPTIONS).rstrip("\n"))
        return 0
    client = client_of(given)
    from kafkalet.control import top

    try:
        if "once" not in given and top.is_interactive(variable("TERM")):
            return top.run(client, color=variable("NO_COLOR") is None)
        if "once" not in given and sys.stdout is not None and sys.stdout.isatty():
            print_error(Failure("this terminal cannot be redrawn, so top shows the state once"), 0)
        print_line(top.show_once(client))
    except ControlError as error:
        raise Failure(error.message) from error
    return 0
