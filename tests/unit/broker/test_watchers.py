"""Tests of watchers: each one is woken by every change while it watches, and by none afterwards."""

from kafkalet.broker.watchers import NO_TOPIC, Watchers


def test_touch_wakes_every_watcher() -> None:
    watchers = Watchers()
    with watchers.watch() as first, watchers.watch() as second:
        watchers.touch()
        assert first.is_set()
        assert second.is_set()


def test_touch_before_watching_is_not_seen() -> None:
    watchers = Watchers()
    watchers.touch()
    with watchers.watch() as changed:
        assert not changed.is_set()


def test_watcher_that_has_ended_is_not_woken() -> None:
    watchers = Watchers()
    with watchers.watch() as changed:
        pass
    watchers.touch()
    assert not changed.is_set()


def test_requests_are_seen_only_while_a_watcher_wants_them() -> None:
    watchers = Watchers()
    with watchers.watch():
        assert not watchers.sees_requests
        with watchers.watch(requests=True):
            assert watchers.sees_requests
    assert not watchers.sees_requests


def test_watcher_knows_the_topics_that_have_changed() -> None:
    watchers = Watchers()
    with watchers.watch() as changed:
        watchers.touch("a")
        watchers.touch("b")
        watchers.touch("a")
        watchers.touch(NO_TOPIC)
        assert changed.take_topics() == {"a", "b"}
        assert changed.take_topics() == set()
        watchers.touch("a")
        watchers.touch()
        assert changed.take_topics() is None
        assert changed.is_set()
