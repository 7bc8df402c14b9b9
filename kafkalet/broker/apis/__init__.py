"""The request handlers: one module per API, named as in `kafkalet.protocol.api`.

    def handle(request: ListOffsetsRequest, context: Context) -> ListOffsetsResponse

A handler is a plain function. It returns the response, a `Delayed` response if the request has to wait (purgatory.py),
or None if the client expects no response (Produce with acks=0). If it raises KafkaError, the whole request fails, and
the client gets the error response of `network/error_responses.py`. If Kafka's error responses of this API are
different, the module defines it:

    def refuse(request: JoinGroupRequest, context: Context, error: KafkaError) -> JoinGroupResponse

The router imports a module when the first request for its API arrives, so that brokers start quickly.
"""
