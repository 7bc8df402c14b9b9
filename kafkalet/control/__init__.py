"""The control API: the test kit over HTTP and JSON, for tests in any language (`kafkalet serve --control`).

server      the HTTP server: connections, limits, access control
route       declarations of routes, and the lookup of the route of a request
routes/     one module of routes for each area
shapes      the shapes of JSON values: checks of requests, and JSON Schema
openapi     the OpenAPI document, generated from the routes
failures    exceptions as HTTP responses
page/       the web page: HTML, CSS and JavaScript modules, without a build step
client      a client of the API, for `kafkalet ctl` and `kafkalet top`
overview    what `kafkalet top` shows
top         `kafkalet top` in a terminal

Handlers run in the threads of the HTTP server. They use the brokers only through the methods of the test kit, which
are thread-safe, so that the control API never blocks the event loop of the brokers.
"""
