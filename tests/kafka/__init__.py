"""Apache Kafka's own integration tests, with kafkalet as the cluster (`make kafka-tests`).

Kafka publishes its tests as jars. The Java sources here take the place of two classes of Kafka's test kits, first on
the class path: `KafkaClusterTestKit`, on which the kits of the clients, the command-line tools, Kafka Streams and
Connect stand, and `KRaftQuorumImplementation` of the harness in Scala. They start `kafkalet serve`. The tests, the
clients and all other classes are Kafka's, except that the harness in Scala gets a controller and a Kerberos server that
do nothing. A principal builder of a test for plaintext listeners works through a proxy in front of the brokers.

A test that fails is repeated, and if it fails again, run on Kafka's own broker. `results.tsv` has the outcomes of the
classes of `classes.txt`; docs/kafka-tests.md is generated from it. `causes.tsv` has the reasons for failures.

Tests with a broker and controller in one process are skipped where they also run with separate ones.
"""
