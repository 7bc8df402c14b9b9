"""Speed figures, side by side with Apache Kafka in the same run: `python -m benchmarks`."""
