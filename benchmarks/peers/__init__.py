"""Compare kafkalet with Apache Kafka and kfake under load from programs that share no code with any of them.

    rawload/    requests over plain sockets, in Go
    transfer.c  producing and consuming with librdkafka, in C
    kfake/      kfake, the broker of franz-go for tests, as a program

programs.py builds them on first use; rows.py contains what is measured.
"""
