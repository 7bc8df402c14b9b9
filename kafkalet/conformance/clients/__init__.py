"""Judges clients: a broker that provokes them, scenario by scenario, and observes what they do.

command.py    starts the client, and collects its lines
stage.py      a scenario in progress: the brokers, the client, and what the scenario does to them
scenarios/    the scenarios
judges.py     compares the lines of the client and its requests with the logs of the brokers
runner.py     runs scenarios in parallel
results.py    the results of a run, which the reports read
"""
