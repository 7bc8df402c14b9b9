"""Scheduling on the event loop.

turns.py        shares the event loop between connections
work.py         long-running handlers: coroutines that yield, and worker threads
purgatory.py    requests that wait for a change or a timeout
periodic.py     periodic tasks
"""
