"""Subscriptions by regular expression, whose topics are resolved asynchronously and written to the log.

A member with a new expression gets no topics at first. The expression is resolved right after its heartbeat, which
increments the group epoch, and the next heartbeat returns the partitions. Expressions are resolved again when topics
are created (at most every ten seconds) and every ten minutes (`group.consumer.regex.refresh.interval.ms`). Matching
many topics can take a long time, so other requests are handled in between.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.maybeUpdateRegularExpressions,
handleRegularExpressionsResult, modern.consumer.TopicRegexResolver.
"""

import logging
from collections import Counter
from enum import Enum

from kafkalet.broker.groups.group import TopicCheck
from kafkalet.broker.groups.modern.records import Change
from kafkalet.broker.java_order import grown, ordered, string_hash, with_capacity
from kafkalet.broker.quoting import quoted, shown
from kafkalet.protocol.errors import KafkaError
from kafkalet.tasks.task import Task, pause, start

from . import records
from .group import ConsumerGroup
from .members import ConsumerMember, Resolved

_LOG = logging.getLogger(__name__)

SHORTEST_REFRESH_MS = 10_000
CHECKED_PER_SLICE = 100
"""The number of topics to check for rights before other clients are served."""
_NOTHING = Resolved(frozenset(), 0, 0)


class RegexStatus(Enum):
    """The effect of a heartbeat on a member's regular expression."""

    SAME = "same"
    CHANGED = "changed"  # its topics are not known yet
    CHANGED_AND_RESOLVED = "changed, and its topics are known"


def update_regexes(
    group: ConsumerGroup, before: ConsumerMember, after: ConsumerMember
) -> tuple[RegexStatus, list[Change], bool]:
    """Compare a member's regular expression before and after a heartbeat.

    Returns how the expression has changed, the records to write immediately, and whether the group's expressions have
    to be resolved. Raises INVALID_REGULAR_EXPRESSION if the new expression is invalid.
    """
    old, new, regexes = before.topic_regex or "", after.topic_regex or "", group.members.regexes
    changes: list[Change] = []
    status, is_new = RegexStatus.SAME, False
    if before.topic_regex != after.topic_regex:
        status = RegexStatus.CHANGED
        if old and regexes[old] == 1:
            changes.append(records.no_regex(group.group_id, old))
        if new and not regexes[new]:
            group.shard.regexes.check(new)
            is_new = True
        elif (
            (new in group.members.resolved) if new else (old and group.shard.node.release.notices_expressions_given_up)
        ):
            status = RegexStatus.CHANGED_AND_RESOLVED
    if not is_new and not regexes:
        return status, changes, False
    return status, changes, _is_due(group, old, new, is_new=is_new)


def _is_due(group: ConsumerGroup, old: str, new: str, *, is_new: bool) -> bool:
    """Return whether the regular expressions of a group have to be resolved now."""
    if group.is_resolving:
        return False
    last = next(iter(group.members.resolved.values()), None)
    now_ms = group.shard.clock.now_ms()
    if last is not None and now_ms <= last.timestamp_ms + SHORTEST_REFRESH_MS:
        return False
    if is_new or last is None:
        return True
    wanted = Counter(group.members.regexes)
    wanted[old] -= 1
    wanted[new] += 1
    count = sum(1 for regex, members in wanted.items() if regex and members > 0)
    node = group.shard.node
    return (
        count != len(group.members.resolved)
        or last.version < node.metadata.version_of_new_topics
        or now_ms > last.timestamp_ms + node.config.group_consumer_regex_refresh_interval_ms
    ) and count > 0


def resolve_later(group: ConsumerGroup, may_describe: TopicCheck | None) -> None:
    """Resolve the expressions of a group after the current request.

    All expressions match only topics for which `may_describe` is true, even those of members of other users.
    """
    group.is_resolving = True
    group.shard.node.call_soon(lambda: _begin(group, may_describe))


def _begin(group: ConsumerGroup, may_describe: TopicCheck | None) -> None:
    node = group.shard.node
    work = start(_resolve(group, may_describe), node.turns, node.workers)
    if isinstance(work, Task):
        work.then(lambda _: None, lambda error: _LOG.error("unexpected error while resolving topics", exc_info=error))


async def _resolve(group: ConsumerGroup, may_describe: TopicCheck | None) -> None:
    """Find the topics that match the group's expressions, and write them if the group still exists."""
    metadata = group.shard.node.metadata
    names, version, now_ms = sorted(metadata.topics), metadata.version, group.shard.clock.now_ms()
    found: dict[str, Resolved] = {}
    try:
        for expression in list(group.members.regexes):
            topics = await _matching(group.group_id, expression, names)
            if may_describe is not None:
                topics = await _describable(topics, may_describe)
            found[expression] = Resolved(frozenset(topics), version, now_ms)
    finally:
        group.is_resolving = False
    if group.shard.groups.get(group.group_id) is group:
        in_order = ordered(found, string_hash, grown(len(found), with_capacity(len(found))))
        _write(group, {regex: found[regex] for regex in in_order if regex in group.members.regexes})


async def _matching(group_id: str, expression: str, names: list[str]) -> list[str]:
    from kafkalet.broker.regex.automaton import LONGEST_TOPIC_NAME, BadRegex, compile_in_turns

    try:
        regex = await compile_in_turns(expression, LONGEST_TOPIC_NAME)
        return await regex.select(names)
    except BadRegex as problem:
        _LOG.error(
            "group %s: ignoring invalid regular expression %s: %s", quoted(group_id), quoted(expression), shown(problem)
        )
        return []


async def _describable(topics: list[str], may_describe: TopicCheck) -> list[str]:
    found = []
    for number, topic in enumerate(topics):
        if may_describe(topic):
            found.append(topic)
        if number % CHECKED_PER_SLICE == 0:
            await pause()
    return found


def _write(group: ConsumerGroup, resolved: dict[str, Resolved]) -> None:
    if not resolved:
        return
    known = group.members.resolved
    changes = [records.regex(group.group_id, regex, now) for regex, now in resolved.items()]
    changed = any(known.get(regex, _NOTHING).topics != now.topics for regex, now in resolved.items())
    topics = set(group.members.names).union(*(now.topics for now in {**known, **resolved}.values()))
    if changed or group.hash_of(topics) != group.metadata_hash:
        changes += group.enter_epoch(group.group_epoch + 1, topics)
    try:
        group.commit(changes)
    except KafkaError as error:  # the next heartbeat will try again
        name = quoted(group.group_id)
        _LOG.warning("group %s: cannot write the topics of its regular expressions: %s", name, error.code.name)
