"""Random compacted topics, cleaned by Apache Kafka."""
