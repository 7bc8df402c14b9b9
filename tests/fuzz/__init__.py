"""A mutation fuzzer for requests, based on recorded conversations with Apache Kafka.

    python -m tests.fuzz [--inputs 100000] [--seed 1]

`corpus` builds valid request frames, `mutations` modifies them, and `campaign` sends them to a broker in a separate
process. The broker must keep answering, keep its stored records, stay within its memory limit, and never log a
traceback.

    python -m tests.fuzz.directories [--cases 1000] [--seed 1]

damages data directories instead and starts brokers on them (directories.py).
"""
