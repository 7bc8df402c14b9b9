"""The list of all rules."""

from .correlation import CorrelationIds
from .rule import Rule
from .versions import AdvertisedVersions

RULES: tuple[type[Rule], ...] = (
    AdvertisedVersions,
    CorrelationIds,
)
