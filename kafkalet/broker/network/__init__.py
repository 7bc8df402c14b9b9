"""The network layer: from a socket to a request handler and back.

listener.py          accepts connections, within the limits of connection_limits.py
connection.py        one connection: its requests in order, its responses, its turns
receiving.py         the buffer that frames are read into
sending.py           outgoing responses: memory and file ranges
router.py            decodes a frame, calls the handler, encodes the response
request_log.py       one line for each request, at level debug; request_text.py formats it
addresses.py, reserved_port.py, listener_context.py   addresses and settings of a listener
"""
