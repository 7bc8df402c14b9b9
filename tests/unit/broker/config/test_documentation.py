"""`kafkalet.broker.config.documentation`: a sentence for each property that is acted on."""

from kafkalet.broker.config.broker_properties import topic_defaults_of
from kafkalet.broker.config.documentation import documentation_of
from kafkalet.properties import NO_EFFECT
from kafkalet.storage.topic_properties import TOPIC_PROPERTIES


def test_property_of_groups_without_effect_says_so() -> None:
    assert documentation_of("share.session.timeout.ms") == NO_EFFECT


def test_defaults_of_topics_say_whose_they_are() -> None:
    for name in topic_defaults_of((4, 4)):
        if name not in TOPIC_PROPERTIES:
            assert "for a topic that does not say otherwise." in documentation_of(name), name
    assert documentation_of("log.preallocate").endswith("It has no effect in kafkalet.")
    assert documentation_of("log.retention.hours") == "What retention.ms is for a topic that does not say otherwise."


def test_bounds_of_group_properties_say_what_they_bound() -> None:
    text = documentation_of("group.consumer.min.session.timeout.ms")
    assert text == "The least that consumer.session.timeout.ms of a group may be."
    assert documentation_of("group.consumer.max.session.timeout.ms").startswith("The most that consumer.session")


def test_the_rest_is_said_to_have_no_effect() -> None:
    assert documentation_of("num.io.threads") == NO_EFFECT
