"""Performance measurements of kafkalet and Apache Kafka in the same run: `python -m benchmarks`."""
