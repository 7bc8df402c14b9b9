"""The faults of a cluster, and their effects on requests.

    request ── tried with each fault in order ──> handler                       no fault fires
                     └── disconnect="before"
                     └── delay, hang, barrier ──> error or handler ──> drop_response, disconnect="after", throttle_ms
                                                                   ──> corrupt, truncate, bandwidth (shaping.py)

While there are faults, `Faults` is the hook `Hooks.intercept` of every broker in the cluster. All methods run in the
event loop of the cluster.
"""

from collections.abc import Callable, Coroutine
from functools import partial
from types import CoroutineType
from typing import Any, cast

from kafkalet.broker.context import Context
from kafkalet.broker.network.error_responses import error_response, refusal
from kafkalet.broker.network.hooks import Handler
from kafkalet.broker.network.request_items import expanded, split
from kafkalet.broker.network.router import Route, Router
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.schema import Request, Response
from kafkalet.tasks.delayed import Delayed
from kafkalet.tasks.task import until

from .refusals import PARTITIONS_IN_RESPONSE, ROOT, SESSION_ERRORS, mark_partitions, merge, places
from .rule import DROP, FaultRule, is_named
from .shaping import Shaping, corrupted_records

Answer = Response | None
PRODUCE_NO_RESPONSE = 0


class Faults:
    """The faults of a cluster, in the order in which they are tried."""

    def __init__(self, touch: Callable[[], None]) -> None:
        """`touch` is called after a fault has fired."""
        self._touch = touch
        self.rules: list[FaultRule] = []
        self._number = 0
        self._shaping = Shaping(self._hook)
        self._routers: dict[int, Router] = {}

    def attach(self, node_id: int, router: Router) -> None:
        """Apply the faults to another broker of the cluster."""
        self._routers[node_id] = router
        self._hook()

    def brokers_closed(self) -> None:
        """Forget the brokers and the held requests, because their connections have been closed."""
        self._routers.clear()
        self._shaping.clear()
        for rule in self.rules:
            rule.held.clear()

    def add(self, rule: FaultRule) -> None:
        """Set a fault. It is tried after the faults that were set before it."""
        self._number += 1
        rule.number = self._number
        self.rules.append(rule)
        self._hook()

    def remove(self, rule: FaultRule) -> None:
        """Remove a fault. Requests that it holds are handled, and slow responses are completed.

        A second call has no effect.
        """
        if rule in self.rules:
            self.rules.remove(rule)
            rule.release()
            self._shaping.finish_slow(rule)
            self._hook()

    def _hook(self) -> None:
        intercept = self._intercept if self.rules else None
        shaping = self._shaping if self.rules or self._shaping.is_needed else None
        for router in self._routers.values():
            router.hooks.intercept = intercept
            if router.hooks.shaping is not shaping:
                router.hooks.shaping = shaping

    def _intercept(self, request: Request, context: Context, handle: Handler) -> Any:
        for rule in self.rules:
            rule.requests[str(context.api)] += 1
        if request is not None:  # None for ApiVersions in an unsupported version
            for rule in self.rules:
                if rule.offer(request, context):
                    self._touch()
                    return self._act(rule, request, context, handle)
        return handle(request, context)

    def _act(self, rule: FaultRule, request: Request, context: Context, handle: Handler) -> Any:
        if rule.actions.holds:
            return self._hold(rule, request, context, handle)
        return self._serve(rule, request, context, handle)

    async def _hold(self, rule: FaultRule, request: Request, context: Context, handle: Handler) -> Any:
        await until(rule.hold(context))
        answer = self._serve(rule, request, context, handle)
        return await answer if answer.__class__ is CoroutineType else answer

    def _serve(self, rule: FaultRule, request: Request, context: Context, handle: Handler) -> Any:
        actions = rule.actions
        if actions.disconnect == "before":
            context.client.close(f"a fault closed the connection before {context.route} was handled")
            return None
        if actions.error is not None:
            answer = self._refuse(rule, actions.error, request, context, handle)
        else:
            answer = _handled(request, context, handle)
        return _then(answer, partial(self._respond, rule, request, context))

    def _respond(self, rule: FaultRule, request: Request, context: Context, answer: Answer) -> Answer:
        """Apply the actions that change the response."""
        actions = rule.actions
        if actions.disconnect == "after":
            context.client.close(f"a fault closed the connection after {context.route} was handled")
            return None
        if actions.drop_response:
            self._shaping.lose(context)
            return None
        if answer is not None and actions.respond is not None:
            answer = self._changed(rule, request, context, answer)
        if answer is None:
            return None
        if actions.rewrite is not None and actions.rewrite(answer) is False:
            rule.fired -= 1
        is_shaped = actions.truncate is not None or actions.bandwidth or actions.rewrite_frame
        if actions.corrupt and context.api is Api.FETCH:
            if not self._corrupt_records(rule, request, context, answer):
                return answer
        elif actions.corrupt:
            is_shaped = True
        if actions.throttle_ms:
            if hasattr(answer, "throttle_time_ms"):
                answer.throttle_time_ms = actions.throttle_ms
            context.client.mute(actions.throttle_ms)
        if is_shaped:
            self._shaping.add(context, rule)
        return answer

    def _changed(self, rule: FaultRule, request: Request, context: Context, answer: Response) -> Answer:
        """Return the response that a test's function has changed or returned, or None if it drops the response."""
        assert rule.actions.respond is not None
        try:
            changed = rule.actions.respond(request, answer)
            if changed is None:
                return answer
            if changed is DROP:
                self._shaping.lose(context)
                return None
            if isinstance(changed, type(answer)):
                return changed
            raise TypeError(f"respond= returned {changed!r}; it must return a {type(answer).__name__}, None or DROP")
        except Exception as problem:  # noqa: BLE001 - the user's code must not close the connection
            rule.problem = rule.problem or problem
            return answer

    def _corrupt_records(self, rule: FaultRule, request: Request, context: Context, answer: Any) -> bool:
        """Corrupt the records of the matching partitions. Return whether the fault fires."""
        meant = []
        for topic in answer.responses:
            known = context.metadata.topic_by_id(topic.topic_id)
            name = topic.topic if known is None else known.name
            for partition in topic.partitions:
                filters = rule.filters
                if (
                    partition.records
                    and (filters.topic is None or is_named(name, filters.topic))
                    and filters.partition in (None, partition.partition_index)
                ):
                    meant.append(partition)
        if not meant or rule.is_spent or not rule.select(request, context):
            return False
        self._touch()
        for partition in meant:
            partition.records = corrupted_records(partition.records, rule.actions.corrupt)
        return True

    # Errors

    def _refuse(self, rule: FaultRule, code: Code, request: Any, context: Context, handle: Handler) -> Any:
        """Respond with an error for the matching items, and let the handler serve all others."""
        filters = rule.filters
        if context.api is Api.FETCH:
            return self._refuse_fetch(rule, code, request, context)
        if context.api in PARTITIONS_IN_RESPONSE and filters.partition is not None:
            return _then(_handled(request, context, handle), partial(_mark, rule, code))
        rest, hit = split(expanded(request, context), lambda item: rule.covers(item, context), context)
        is_whole = rest is None and filters.topic is None and filters.partition is None
        if context.api is Api.METADATA:
            return self._refuse_topics(code, request, rest, hit, context, handle)
        if is_whole:
            return _refused(request, code, context)
        error = refusal(hit, context, KafkaError(code), whole=False)
        if rest is not None:
            return _then(_handled(rest, context, handle), partial(_merged, error, request, context))
        return _merged(error, request, context, error)

    def _refuse_topics(self, code: Code, request: Any, rest: Any, hit: Any, context: Context, handle: Handler) -> Any:
        """Refuse topics of a Metadata request. The response contains the brokers even if all topics are refused."""
        if not hit.topics or code is Code.REBOOTSTRAP_REQUIRED:
            return _refused(request, code, context)
        error = refusal(hit, context, KafkaError(code), whole=False)
        if rest is None:
            rest = type(request)(**{field.name: getattr(request, field.name) for field in request.FIELDS})
            rest.topics = []
        names = {topic.name for topic in rest.topics}

        def join(answer: Any) -> Any:
            if context.version == 0 and not names:  # an empty list requests all topics
                answer.topics = []
            return merge(answer, error, context)

        return _then(_handled(rest, context, handle), join)

    @staticmethod
    def _refuse_fetch(rule: FaultRule, code: Code, request: Any, context: Context) -> Any:
        from kafkalet.broker.apis.fetch import handle

        if code in SESSION_ERRORS and ROOT in places(Api.FETCH, context.version) and rule.filters.topic is None:
            return error_response(request, context, KafkaError(code))

        def error_of(name: str, index: int) -> Code | None:
            filters = rule.filters
            if filters.topic is not None and not is_named(name, filters.topic):
                return None
            return code if filters.partition in (None, index) else None

        return handle(request, context, error_of)


def _handled(request: Any, context: Context, handle: Handler) -> Any:
    """Call the handler. An error for the whole request becomes a response."""
    try:
        answer = handle(request, context)
    except KafkaError as error:
        return _refused_by(error, request, context)
    return _awaited(answer, request, context) if answer.__class__ is CoroutineType else answer


async def _awaited(work: Coroutine[Any, Any, Any], request: Any, context: Context) -> Any:
    try:
        return await work
    except KafkaError as error:
        return _refused_by(error, request, context)


def _refused_by(error: KafkaError, request: Any, context: Context) -> Any:
    return cast(Route, context.route).refuse(request, context, error)


def _refused(request: Any, code: Code, context: Context) -> Any:
    """Return an error response for a whole request, as the handler's module does."""
    return _refused_by(KafkaError(code), expanded(request, context), context)


def _then(answer: Any, transform: Callable[[Any], Any]) -> Any:
    """Transform a response that may not be available yet."""
    if answer.__class__ is CoroutineType:
        return _transformed(answer, transform)
    return answer.map(transform) if isinstance(answer, Delayed) else transform(answer)


async def _transformed(work: Coroutine[Any, Any, Any], transform: Callable[[Any], Any]) -> Any:
    answer = await work
    return transform(await until(answer) if isinstance(answer, Delayed) else answer)


def _mark(rule: FaultRule, code: Code, answer: Any) -> Any:
    topic, partition = rule.filters.topic, rule.filters.partition
    assert partition is not None
    mark_partitions(answer, lambda name: topic is None or is_named(name or "", topic), partition, code)
    return answer


def _merged(error: Response, request: Any, context: Context, answer: Any) -> Any:
    """Add refused items to a response. If there is no response (acks=0), close the connection, as Kafka does."""
    if context.api is Api.PRODUCE and request.acks == PRODUCE_NO_RESPONSE:
        context.client.close("a produce request with acks=0 failed (a fault)")
        return None
    return answer if answer is error else merge(answer, error, context)
