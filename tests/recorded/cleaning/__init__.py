"""What Apache Kafka's log cleaner made of random logs, as text, and how to compare another cleaner with it."""
