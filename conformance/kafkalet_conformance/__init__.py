"""The conformance kit: compares brokers and clients with Apache Kafka.

catalog    the recorded scenarios: their claims, sources, releases and APIs
transcripts  the steps of the recorded scenarios, with the responses of each release
building     builds the steps of scenarios and histories
access       the numbers of ACLs
results      the results of a run against a broker
notation/    messages, record batches and embedded values as plain data
playing/     performs the steps of a scenario against a broker, and compares responses
judging/ runs many scenarios against a broker that needs no preparation, and collects the results
reports/     the results as a table, JSON, JUnit and HTML, and the comparison of two runs
recordings/  the recorded data: the catalog, and one archive of transcripts for each area
between/     compares two brokers with random histories of requests
clients/     judges what a client sends, and what it does after errors

The scenarios and the recorder are in tools/recording of a clone.
"""
