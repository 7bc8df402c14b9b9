"""Scheduling on the event loop.

turns.py        shares the event loop between connections
work.py         long-running handlers: coroutines that yield, and worker threads
steps.py        generators whose steps run in threads, such as the log cleaner
purgatory.py    requests that wait for a change or a timeout
periodic.py     periodic tasks
"""
