"""The commands of the command line, apart from `kafkalet pipeline`.

command_line    options, errors, and lines on stdout and stderr
serve           `kafkalet serve`
exec            `kafkalet exec`: a broker for the time that a command runs
loading         `--load`
control         `--control`
ready_file      `--ready-file`
parent          `--exit-with-parent`
"""
