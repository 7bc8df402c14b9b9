"""The conformance kit: judges any broker and any client by what Apache Kafka does.

catalogue    the recorded scenarios, and their answers of each release
notation/    messages, record batches and embedded values as plain data
playing/     performs the steps of a scenario against a broker, and compares answers
judging/     runs many scenarios against a broker that was not prepared for it, and collects the results
reports/     the results as a table, JSON, JUnit and HTML, and the comparison of two runs
scenarios/   the definitions of the scenarios
recording/   builds the steps of scenarios and records the answers of a broker
between/     random histories against two brokers
clients/     judges what a client sends, and what it does after errors
"""
