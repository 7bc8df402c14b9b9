"""Properties: what Kafka has, what a broker acts on, how they are described and changed.

broker_config.py     the properties that a broker acts on, with their defaults
catalog/             all properties that Kafka has
entries.py, documentation.py      how DescribeConfigs shows them
dynamic.py, reconfiguration.py    how AlterConfigs changes them
group_properties.py, client_metrics.py     the properties of groups and of metrics subscriptions
release.py, group_rules.py        the rules in which releases of Kafka differ; features.py: feature levels
"""
