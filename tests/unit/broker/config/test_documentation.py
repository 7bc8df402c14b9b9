"""`kafkalet.broker.config.documentation`: the documentation of each property that has an effect."""

import re

from kafkalet.broker.config.broker_properties import topic_defaults_of
from kafkalet.broker.config.documentation import documentation_of
from kafkalet.properties import NO_EFFECT
from kafkalet.storage.topic_properties import TOPIC_PROPERTIES


def test_group_property_without_effect_is_documented_as_such() -> None:
    assert documentation_of("streams.assignor.name") == NO_EFFECT


def test_default_for_topics_names_the_topic_property() -> None:
    for name in topic_defaults_of((4, 4)):
        if name not in TOPIC_PROPERTIES:
            assert re.search(r"[Dd]efault of the topic property [a-z.]+\.", documentation_of(name)), name
    assert documentation_of("log.preallocate").endswith("It has no effect in kafkalet.")
    assert documentation_of("log.retention.hours") == "Default of the topic property retention.ms."


def test_bound_of_a_group_property_names_the_property() -> None:
    text = documentation_of("group.consumer.min.session.timeout.ms")
    assert text == "Minimum of the group property consumer.session.timeout.ms."
    assert documentation_of("group.consumer.max.session.timeout.ms").startswith("Maximum of the group property")


def test_other_broker_properties_are_documented_as_without_effect() -> None:
    assert documentation_of("num.io.threads") == NO_EFFECT
