"""Code that the commands share: options, errors, and lines on stdout and stderr.

The options are parsed here, not by argparse: importing argparse alone takes a tenth of the broker's start-up time.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple


class UsageError(Exception):
    """The command line is invalid. The message says why."""


class Failure(Exception):
    """The command failed for a reason outside kafkalet. The message is printed to stderr."""


class Option(NamedTuple):
    """An option. `help` is the line that describes it in the help text. A flag has an empty `value`."""

    name: str
    value: str
    help: str
    repeatable: bool = False
    aliases: tuple[str, ...] = ()


HELP_OPTION = Option("--help", "", "show this help and exit", aliases=("-h",))


def parse(arguments: Sequence[str], options: Sequence[Option], command: str = "") -> dict[str, list[str]]:
    """Return the values of the options in the order given, keyed by option name without the dashes.

    The value of a flag is the empty string. Errors refer to the help of `command`.
    """
    words, given = separate(arguments, lambda _: (options, command))
    if words:
        raise UsageError(f"unknown argument {words[0]}; {hint(words[0], [each.name for each in options], command)}")
    return given


def separate(
    arguments: Sequence[str], after: Callable[[Sequence[str]], tuple[Sequence[Option], str]]
) -> tuple[list[str], dict[str, list[str]]]:
    """Return the words, and the values of the options as `parse` does. After `--`, all are words.

    `after` returns the options that may follow words, and the command whose help errors refer to.
    """
    words: list[str] = []
    given: dict[str, list[str]] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            words += rest
        elif not argument.startswith("-") or argument == "-" or argument[1:2].isdecimal():
            words.append(argument)
        else:
            options, command = after(words)
            known = {name: option for option in options for name in (option.name, *option.aliases)}
            name, equals, value = argument.partition("=")
            option = known.get(name)
            if option is None:
                raise UsageError(f"unknown option {name}; {hint(name, [each.name for each in options], command)}")
            if option.value and not equals:
                value = next(rest, "--")
                if value == "--" or value in known:
                    raise UsageError(f"{name} needs a value: {name} {option.value}")
            elif equals and not option.value:
                raise UsageError(f"{argument}: {name} takes no value")
            values = given.setdefault(option.name.lstrip("-"), [])
            if values and not option.repeatable:
                raise UsageError(f"{option.name} is given twice; it takes one value")
            values.append(value)
    return words, given


def hint(given: str, known: Sequence[str], command: str = "") -> str:
    """Suggest the closest known name, or refer to the help of `command`."""
    from difflib import get_close_matches

    by_word = {name.lstrip("-"): name for name in known}
    close = get_close_matches(given.lstrip("-").replace("_", "-"), by_word, 1)
    if close:
        return f"did you mean {by_word[close[0]]}?"
    return f"see kafkalet {command} --help" if command else "see kafkalet --help"


def parse_address(option: str, text: str, least_port: int = 0) -> tuple[str, int]:
    """Return the host and port from `HOST:PORT`, `:PORT` (every interface) or `[IPV6]:PORT`."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or not least_port <= int(port) <= 65535:
        raise UsageError(f"{option} {text}: expected HOST:PORT with a port from {least_port} to 65535")
    return host.removeprefix("[").removesuffix("]"), int(port)


def split(option: str, wanted: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"{option} {text}: expected {wanted}")
    return name.strip(), value


def reported(command: Callable[[], int]) -> int:
    """Run a command and return its exit status. A UsageError or a Failure becomes one line on stderr."""
    try:
        return command()
    except UsageError as error:
        return print_error(error, 2)
    except Failure as error:
        return print_error(error, 1)


def print_error(error: Exception, status: int) -> int:
    if sys.stderr is not None:  # None if the process was started without stderr
        with contextlib.suppress(OSError):
            print(f"kafkalet: {error}", file=sys.stderr)
    return status


def print_line(text: str) -> None:
    """Print to stdout, if the process has one. Raise Failure if the write fails."""
    if sys.stdout is None:
        return
    try:
        print(text, flush=True)
    except OSError as error:
        with contextlib.suppress(OSError):
            sys.stdout.close()  # otherwise, the interpreter flushes again at exit and prints a traceback
        raise Failure(f"cannot write to standard output: {error.strerror}") from error


def keep_standard_descriptors() -> None:
    """Open /dev/null for each of descriptors 0 to 2 that is closed.

    Otherwise, a file or socket that is opened later could get descriptor 2, and receive text for stderr.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # returns the lowest free descriptor, which is this one
