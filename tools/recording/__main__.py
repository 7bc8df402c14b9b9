"""Run the command of command.py."""

import sys

from kafkalet.commands.command_line import reported

from .command import main

if __name__ == "__main__":
    sys.exit(reported(lambda: main(sys.argv[1:])))
