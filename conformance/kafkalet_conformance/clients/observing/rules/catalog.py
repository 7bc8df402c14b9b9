"""The list of all rules, and of all claims."""

import sys

from kafkalet_conformance.clients.observing import batches, reading, strict, values
from kafkalet_conformance.clients.observing.finding import Claim

from .consumer_groups import ConsumerMembers
from .correlation import CorrelationIds
from .fetch_sessions import FetchSessions
from .frames import Frames
from .groups import ClassicMembers
from .leader_epochs import LeaderEpochs, PositionValidation
from .retries import RetryBackoff
from .rule import Rule
from .sequences import InFlight, SequenceNumbers
from .share_sessions import ShareSessions
from .subscriptions import Subscriptions
from .throttling import Throttling
from .topic_ids import TopicIds
from .transactions import Transactions
from .versions import AdvertisedVersions

RULES: tuple[type[Rule], ...] = (
    AdvertisedVersions,
    CorrelationIds,
    Frames,
    FetchSessions,
    LeaderEpochs,
    PositionValidation,
    TopicIds,
    SequenceNumbers,
    InFlight,
    Transactions,
    ClassicMembers,
    ConsumerMembers,
    ShareSessions,
    Subscriptions,
    Throttling,
    RetryBackoff,
)


def claims() -> list[Claim]:
    """Return everything that the observer expects of clients, sorted by name."""
    modules = [batches, reading, strict, values, *(sys.modules[rule.__module__] for rule in RULES)]
    found = {value for module in modules for value in vars(module).values() if isinstance(value, Claim)}
    return sorted(found | {rule.CLAIM for rule in RULES})
