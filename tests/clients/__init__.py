"""What real clients see.

`drivers/` gives kafka-python, confluent-kafka (librdkafka) and aiokafka one face, so that a claim is written once and
held against all three; what only one of them can do stands in its own file. `test_steps.py` is the script that all of
them go through, and it is put to Apache Kafka as well (`make oracle`). `raw.py` is a client that does what no client
does of itself. Java, Go, Node and kcat have a folder each and run with `make clients`.
"""
