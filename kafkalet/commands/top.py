"""`kafkalet top`: the state of the brokers in a terminal (see kafkalet.control.top).

Exit status: 0 after q or a single view, 1 if the control API cannot be reached, 2 if the command line is invalid, and
128 plus the number of a signal.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafkalet.control.client import ControlClient, ControlError

from .command_line import Failure, Option, UsageError, parse, print_line
from .control import TOKEN_VARIABLE, URL_VARIABLE, variable

OPTIONS = (
    Option("--control", "URL", f"URL of the control API, from the ready line of serve (${URL_VARIABLE})"),
    Option("--token", "TOKEN", f"token of the control API (${TOKEN_VARIABLE})"),
    Option("--once", "", "print the state once; the default if the output is not a terminal"),
)
_HELP = """usage: kafkalet top [--control URL] [--token TOKEN] [--once]

Shows the topics, groups, transactions, faults and requests of a kafkalet serve --control process,
live, until q is pressed. Options:

{options}
  -h, --help         show this help and exit
"""


def help_text() -> str:
    """Return the help of the command."""
    return _HELP.format(options="\n".join(f"  {f'{each.name} {each.value}':18} {each.help}" for each in OPTIONS))


def main(arguments: Sequence[str]) -> int:
    """Run `kafkalet top` and return its exit status."""
    if any(name in arguments for name in ("-h", "--help")):
        print_line(help_text().rstrip("\n"))
        return 0
    last = {name: values[-1] for name, values in parse(arguments, OPTIONS).items()}
    url = last.get("control") or variable(URL_VARIABLE)
    if url is None:
        raise UsageError(
            f"the URL of the control API is missing; give --control URL or set {URL_VARIABLE}. "
            "kafkalet serve --control 127.0.0.1:0 prints the URL in its ready line"
        )
    try:
        client = ControlClient(url, last.get("token") or variable(TOKEN_VARIABLE))
    except ValueError as error:
        raise UsageError(str(error)) from error
    from kafkalet.control import top

    try:
        if "once" not in last and top.is_interactive(variable("TERM")):
            return top.run(client, color=variable("NO_COLOR") is None)
        print_line(top.show_once(client))
    except ControlError as error:
        raise Failure(error.message) from error
    return 0
