"""The list of all rules."""

from .consumer_groups import ConsumerMembers
from .correlation import CorrelationIds
from .fetch_sessions import FetchSessions
from .groups import ClassicMembers
from .leader_epochs import LeaderEpochs, PositionValidation
from .retries import RetryBackoff
from .rule import Rule
from .sequences import SequenceNumbers
from .throttling import Throttling
from .topic_ids import TopicIds
from .transactions import Transactions
from .versions import AdvertisedVersions

RULES: tuple[type[Rule], ...] = (
    AdvertisedVersions,
    CorrelationIds,
    FetchSessions,
    LeaderEpochs,
    PositionValidation,
    TopicIds,
    SequenceNumbers,
    Transactions,
    ClassicMembers,
    ConsumerMembers,
    Throttling,
    RetryBackoff,
)
