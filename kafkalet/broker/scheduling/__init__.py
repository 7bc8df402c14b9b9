"""Who is served when.

turns.py        connections share the event loop by time
work.py         handlers that take long: coroutines that give way, and worker threads
purgatory.py    requests that wait until something changes or their time is up
periodic.py     tasks that come round again and again
"""
