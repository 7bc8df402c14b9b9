"""What real clients see.

`drivers.py` gives kafka-python, confluent-kafka (librdkafka) and aiokafka one face, so that a claim is written once and
held against all three; what only one of them can do stands in its own file. Java, Go, Node and kcat have a folder each
and run with `make clients`.
"""
