"""The commands of the conformance kit.

conform     `kafkalet conform`: compares a broker with recorded responses
between     `kafkalet conform between`: compares two brokers
client      `kafkalet conform client`: judges a client
diff        `kafkalet conform diff`: compares two reports
output reports and options that the commands share
security    how to connect to a broker
"""
