"""From a socket to a handler and back.

listener.py          accepts connections; connection_limits.py: how many
connection.py        one connection: its requests in order, its answers, its turns
receiving.py         the buffer that frames are read into
sending.py           answers on their way out: memory and ranges of files
router.py            frame to request, handler, answer to frame
request_log.py       one line for each request, at level debug; request_text.py: what it says
addresses.py, kept_port.py, listener_context.py   what a listener needs to know
"""
