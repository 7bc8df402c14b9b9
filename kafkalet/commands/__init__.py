"""The commands of the command line.

command_line    options, errors, and lines on stdout and stderr
serve           `kafkalet serve`
exec            `kafkalet exec`: a broker for the time that a command runs
loading         `--load`
control         `--control`
ctl             `kafkalet ctl`: parses the command line of a command in ctl_commands
ctl_commands    the commands of `kafkalet ctl`, derived from the OpenAPI document
ctl_tables      the responses of the control API as tables
tables          tables of `kafkalet ctl`
ready_file      `--ready-file`
parent          `--exit-with-parent`
help            help texts in the width of the terminal
"""
