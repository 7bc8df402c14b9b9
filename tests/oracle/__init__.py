"""Comparisons with a running Apache Kafka (`make oracle`; needs Java and Maven)."""
