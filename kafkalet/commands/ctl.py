"""`kafkalet ctl COMMAND`: the control API on the command line (see kafkalet.control).

Exit status: 0 after success, 1 if the API refuses the command or cannot be reached, 2 if the command line is invalid.
The output is a table, or JSON with --json.
"""

import json
from collections.abc import Sequence

from kafkalet.control.client import ControlError

from .command_line import Failure, Option, UsageError, print_line, reported, separate
from .control import CLIENT_OPTIONS, client_of
from .ctl_commands import Command, commands, document
from .ctl_tables import shown

COLUMN = 32
"""Where descriptions begin."""
GENERAL_OPTIONS = (
    *CLIENT_OPTIONS,
    Option("--json", "", "print JSON instead of a table"),
    Option("--help", "", "show the help of a command and exit", aliases=("-h",)),
)
_HELP = """usage: kafkalet ctl COMMAND [ARGUMENT]... [OPTION]...

Controls the brokers of a kafkalet serve --control process. kafkalet ctl COMMAND --help shows the options of a command.

{commands}

Options of all commands:

{options}
"""


def main(arguments: Sequence[str]) -> int:
    """Run `kafkalet ctl` and return its exit status."""
    return reported(lambda: _run(list(arguments)))


def _run(arguments: list[str]) -> int:
    words, options = separate(arguments, _options_after)
    command = _command(words)
    if "help" in options or (command is None and not words):
        print_line(help_text(command).rstrip("\n"))
        return 0
    if command is None:
        raise UsageError(f"unknown command {' '.join(words)}; {_closest(words)}")
    given = command.given(words[len(command.name.split()) :], options)
    client = client_of(options)
    try:
        found = command.run(client, given)
        if found is not None:
            as_json = "json" in options
            text = json.dumps(found, indent=2, ensure_ascii=False) if as_json else shown(command.response, found)
            if text:  # an empty list of names has no lines
                print_line(text)
    except ControlError as error:
        code = f"{error.code}: " if error.code.isupper() and error.message != error.code else ""
        raise Failure(f"{code}{error.message}") from error
    except KeyboardInterrupt:
        return 130
    return 0


def _options_after(words: Sequence[str]) -> tuple[Sequence[Option], str]:
    """Return the options that may follow words: those of a command follow its name."""
    command = _command(words)
    return (
        *command.options,
        *GENERAL_OPTIONS,
    ) if command else GENERAL_OPTIONS, f"ctl {command.name if command else ''}".rstrip()


def _command(words: Sequence[str]) -> Command | None:
    """Return the command whose name is the longest beginning of the words."""
    for count in (2, 1):
        found = commands().get(" ".join(words[:count])) if len(words) >= count else None
        if found is not None:
            return found
    return None


def _closest(words: Sequence[str]) -> str:
    from difflib import get_close_matches

    longer = [name for name in commands() if name.split()[0] == words[0]]
    if longer:
        return f"{words[0]} has the commands {', '.join(longer)}"
    close = get_close_matches(" ".join(words[:2]), commands(), 1) or get_close_matches(words[0], commands(), 1)
    return f"did you mean {close[0]}?" if close else "see kafkalet ctl --help"


def help_text(command: Command | None = None) -> str:
    """Return the help of a command, or of all."""
    from .help import definitions, filled, option_lines

    if command is not None:
        parts = [f"usage: kafkalet ctl {command.usage}{' [OPTION]...' if command.options else ''}", command.description]
        if words := [(each.word, each.help) for each in command.arguments]:
            parts += ["Arguments:", definitions(words, COLUMN)]
        if command.options:
            parts += ["Options:", option_lines(command.options, COLUMN)]
        return filled("\n\n".join(parts))
    areas = []
    for tag in document()["tags"]:
        lines = [(each.usage, each.help) for each in commands().values() if each.tag == tag["name"]]
        areas.append(f"{tag['description']}\n\n{definitions(lines, COLUMN)}")
    return filled(_HELP.format(commands="\n\n".join(areas), options=option_lines(GENERAL_OPTIONS, COLUMN)))
