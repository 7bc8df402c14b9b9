"""Judges clients: runs a client against brokers that cause errors, one scenario at a time, and observes what it does.

command.py    starts the client, and collects its lines
stage.py      a scenario in progress: the brokers, the client, and what the scenario does to them
scenarios/    the scenarios
judges/       compares the lines of the client and its requests with the logs of the brokers
observing/    checks the bytes and the sequence of all requests of the client
runner.py     runs scenarios in parallel
results.py    the results of a run, which the reports read
"""
