"""Properties: what Kafka has, what a broker acts on, how they are described and changed.

The table of properties; a row declares all that is known of a property:

broker_properties.py    properties of brokers that take effect, and defaults of topics
without_effect.py       the other properties of brokers, loaded when they are named; catalog.py: both, by release
group_properties.py     properties of groups; client_metrics.py: of subscriptions to metrics
                        properties of topics are in kafkalet/storage/topic_properties.py

What is made of it:

broker_config.py        the value of each property that counts for a broker; connection_overrides.py: one that has parts
entries.py, documentation.py      how DescribeConfigs shows properties
dynamic.py, reconfiguration.py    how AlterConfigs changes them
release.py, group_rules.py        the rules in which releases of Kafka differ; features.py: feature levels

docs/configuration.md is written from the table: python -m tests.unit.broker.config.configuration_page
"""
