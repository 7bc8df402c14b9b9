"""Clients of five languages and libraries under faults, and a check of all that they saw: `python -m tests.anomalies`.

    history.py     the events that a client reports, and how they are read
    checker.py     what no client may have seen: lost, duplicated, reordered or torn records, and so on
    worker.py      writes and reads with a Python client, as java/Anomalies.java and go/anomalies in tests/clients do
    faults.py      what happens to the cluster in the meantime
    campaign.py    a cluster, the clients, the faults, and the verdict

The workload and the names of the anomalies follow the Kafka workload of Jepsen (jepsen.tests.kafka).
"""
