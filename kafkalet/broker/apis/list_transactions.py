"""ListTransactions v0-2: list the transactional ids that a broker coordinates (KIP-664).

v1  adds a filter by duration (KIP-994)
v2  adds a filter by transactional id, which is a pattern (KIP-1152)

An empty filter matches everything. Unknown states in a filter match nothing; the response lists them in
unknown_state_filters.

Source: kafka.coordinator.transaction.TransactionStateManager.listTransactionStates.
"""

import re
from collections.abc import Callable

from kafkalet.broker.context import Context
from kafkalet.broker.regex.automaton import BadRegex, compile_regex
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.broker.transactions.metadata import BY_TITLE
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse


def handle(request: ListTransactionsRequest, context: Context) -> ListTransactionsResponse:
    wanted = {BY_TITLE[title] for title in request.state_filters if title in BY_TITLE}
    producer_ids = set(request.producer_id_filters)
    try:
        matches = _matcher(request.transactional_id_pattern)
    except KafkaError as error:
        return ListTransactionsResponse(error_code=error.code, unknown_state_filters=[], transaction_states=[])
    now_ms = context.clock.now_ms()
    found = []
    for transaction in context.broker.coordinators.transactions.transactions():
        known = transaction.metadata
        if (
            (not producer_ids or known.producer_id in producer_ids)
            and (not request.state_filters or known.state in wanted)
            and (request.duration_filter < 0 or now_ms - known.start_ms > request.duration_filter)
            and matches(transaction.transactional_id)
            and context.allows(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, transaction.transactional_id)
        ):
            found.append(
                ListTransactionsResponse.Transaction(
                    transactional_id=transaction.transactional_id,
                    producer_id=known.producer_id,
                    transaction_state=known.state.title,
                )
            )
    return ListTransactionsResponse(
        error_code=Code.NONE,
        unknown_state_filters=list(dict.fromkeys(title for title in request.state_filters if title not in BY_TITLE)),
        transaction_states=found,
    )


def _matcher(pattern: str | None) -> Callable[[str], bool]:
    """Return a function that checks if a whole transactional id matches `pattern`.

    Raises KafkaError (INVALID_REGULAR_EXPRESSION) if `pattern` is not a valid regular expression.
    """
    if not pattern:
        return lambda transactional_id: True
    try:
        matches = compile_regex(pattern)
    except BadRegex as problem:
        raise KafkaError(
            Code.INVALID_REGULAR_EXPRESSION,
            f"Transaction ID pattern `{pattern}` is not a valid regular expression: {problem}.",
        ) from problem
    return lambda name: matches(name) if name.isascii() else _matches_beyond_ascii(pattern, name)


def _matches_beyond_ascii(pattern: str, name: str) -> bool:
    """Match an id with non-ASCII characters, with Python's `re`. Its syntax differs slightly from RE2."""
    try:
        return re.fullmatch(pattern, name) is not None
    except re.error:
        return False
