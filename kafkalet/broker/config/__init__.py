"""The configuration of brokers, topics, groups and client metrics: Kafka's properties, their values and changes.

Each property is declared, with its type, default, bounds and documentation, in one of these tables:

a topic                           kafkalet/storage/topic_properties.py
a group                           group_properties.py, which takes bounds and defaults from the broker properties
client metrics                    client_metrics.py
a broker, without any effect      without_effect.py
listeners and security            security_properties.py
the defaults of topics            TOPIC_DEFAULTS in broker_properties.py
a default that a release decides  READ_AS_GIVEN in broker_properties.py
anything else of a broker         BrokerProperties in broker_properties.py, where it is a typed attribute

The tables without effect and of security are texts (property_table.py), which are loaded when such a property is set
or described. catalog.py joins all tables of brokers, for each release.

Code that uses the tables:

broker_config.py        the effective values of a broker's properties
connection_overrides.py the parser of max.connections.per.ip.overrides
entries.py, documentation.py      the entries that DescribeConfigs returns
dynamic.py                        checks changes of broker properties (apis/parts/config_changes.py)
release.py, rule.py               differences between Kafka releases

docs/configuration.md is generated from the tables: python -m tools.reference
"""
