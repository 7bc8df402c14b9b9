"""What a client sees of a broker, one rule a test; each test runs against Apache Kafka too (`make oracle`)."""
