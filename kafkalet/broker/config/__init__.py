"""The configuration of brokers, topics, groups and client metrics: Kafka's properties, their values and changes.

Tables of properties, with one declaration per property:

broker_properties.py    broker properties that have an effect, and defaults for topics
security_properties.py  properties of listeners, authentication, authorization and TLS, loaded on demand
without_effect.py       all other broker properties, loaded on demand
property_table.py       the format of the tables that are loaded on demand
catalog.py              all tables joined, for each release
group_properties.py     group properties
client_metrics.py       properties of client metrics subscriptions
                        (the topic properties are in kafkalet/storage/topic_properties.py)

Code that uses the tables:

broker_config.py        the effective values of a broker's properties
connection_overrides.py the parser of max.connections.per.ip.overrides
entries.py, documentation.py      the entries that DescribeConfigs returns
dynamic.py                        checks changes of broker properties (apis/parts/config_changes.py)
release.py, rule.py               differences between Kafka releases

docs/configuration.md is generated from the tables: python -m tests.unit.broker.config.configuration_page
"""
