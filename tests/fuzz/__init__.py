"""A mutation fuzzer over the frames that real conversations with Apache Kafka consist of.

    python -m tests.fuzz [--inputs 100000] [--seed 1]

`corpus` makes the frames, `mutations` breaks them, `campaign` sends them to a broker in a process of its own and looks
after it: it has to go on answering, keep what was stored, keep its memory, and never show a traceback.

    python -m tests.fuzz.directories [--cases 1000] [--seed 1]

damages data directories instead, and starts brokers on them (directories.py).
"""
