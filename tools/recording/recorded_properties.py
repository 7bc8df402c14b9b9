"""The properties of the brokers whose responses are recorded."""

TOKEN_PROPERTIES = {"delegation.token.secret.key": "the key of recorded tokens"}
"""The further properties of a broker with delegation tokens."""


def broker_properties(release: str) -> dict[str, str]:
    """Return the properties of a recorded broker of this release. It does not delay rebalances to wait for more
    members.
    """
    at_once = {"group.initial.rebalance.delay.ms": "0"}
    return at_once | ({"group.consumer.assignment.interval.ms": "0"} if release >= "4" else {})
