"""The same questions to Apache Kafka itself, where Java and Maven are: `make oracle`."""
