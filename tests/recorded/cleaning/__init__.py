"""The results of Apache Kafka's log cleaner for random logs, as text, and a comparison of another cleaner with them."""
