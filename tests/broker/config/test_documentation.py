"""`kafkalet.broker.config.documentation`: a sentence for each property that is acted on."""

from kafkalet.broker.config.broker_properties import topic_defaults_of
from kafkalet.broker.config.client_metrics import PROPERTIES
from kafkalet.broker.config.documentation import GROUPS, NO_EFFECT, TOPICS, WITHOUT_EFFECT, documentation_of
from kafkalet.broker.config.group_properties import properties_of_groups
from kafkalet.storage.config import attribute_of
from kafkalet.storage.topic_properties import topic_properties
from tests.broker.configuration import reads_of_configurations

RELEASES = ((2, 8), (3, 9), (4, 4))


# What LogConfig.of turns into other attributes.
CONVERTED = {"internal.segment.bytes", "message.format.version", "message.timestamp.difference.max.ms"}


def test_only_topic_properties_that_no_log_reads_are_said_to_have_no_effect() -> None:
    read = reads_of_configurations()
    silent = {name for name in TOPICS if attribute_of(name) not in read} - CONVERTED
    assert silent == {name for name, text in TOPICS.items() if text.endswith(WITHOUT_EFFECT)}


def test_every_property_of_topics_has_a_sentence_and_none_is_of_nothing() -> None:
    assert TOPICS.keys() == {property_.name for release in RELEASES for property_ in topic_properties(release)}


def test_properties_of_groups_and_subscriptions_that_are_acted_on_have_one() -> None:
    assert GROUPS.keys() - PROPERTIES.keys() <= properties_of_groups((4, 4)).keys()
    assert PROPERTIES.keys() <= GROUPS.keys()
    assert documentation_of("share.session.timeout.ms") == NO_EFFECT


def test_defaults_of_topics_say_whose_they_are() -> None:
    for name in topic_defaults_of((4, 4)):
        if name not in TOPICS:
            assert "for a topic that does not say otherwise." in documentation_of(name), name
    assert documentation_of("log.preallocate").endswith(WITHOUT_EFFECT)
    assert documentation_of("log.retention.hours") == "What retention.ms is for a topic that does not say otherwise."


def test_bounds_of_group_properties_say_what_they_bound() -> None:
    text = documentation_of("group.consumer.min.session.timeout.ms")
    assert text == "The least that consumer.session.timeout.ms of a group may be."
    assert documentation_of("group.consumer.max.session.timeout.ms").startswith("The most that consumer.session")


def test_the_rest_is_said_to_have_no_effect() -> None:
    assert documentation_of("num.io.threads") == NO_EFFECT


def test_sentences_end() -> None:
    for text in [*TOPICS.values(), *GROUPS.values(), NO_EFFECT]:
        assert text[0].isupper() or text.split()[0] in TOPICS
        assert text.endswith(".")
