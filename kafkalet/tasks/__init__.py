"""Functions that wait, or do much work, without blocking the other clients of the event loop.

A value that is not available yet is a `Delayed`. An operation is a plain function, or an `async def` that awaits only
`pause()`, `in_thread(call)` and `until(delayed)`. A coroutine that has nothing to wait for runs to its end at once.

delayed.py      a value that is not available yet; it is completed once
task.py         coroutines that run in turns: pause, in_thread, until
turns.py        shares the event loop fairly between connections and tasks
workers.py      worker threads
periodic.py     periodic tasks
"""
