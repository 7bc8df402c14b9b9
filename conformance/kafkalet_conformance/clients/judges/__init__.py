"""Judges: compare what the client printed and sent with the logs of the brokers.

A record is lost if the client acknowledged it and it is not in the log, or if a consumer skipped it. A record is
duplicated if it is in the log twice, or was returned twice. The arguments of a judge name the deviations that it
allows; the value of each is the reason, which becomes the text of the finding.

combining    judges made of other judges
ending       how the client ended
producers    the records that a producer wrote
consumers    the records that a consumer returned
transforming the records that a consume-transform-produce client copied
retries      the time between retries
"""

from .combining import all_of, tolerating
from .consumers import consumed, consumed_or_failed
from .ending import ended
from .producers import UNKNOWN_PRODUCER, produced, refused
from .retries import polite
from .sharing import shared
from .transforming import transformed

__all__ = (
    "UNKNOWN_PRODUCER",
    "all_of",
    "consumed",
    "consumed_or_failed",
    "ended",
    "polite",
    "produced",
    "refused",
    "shared",
    "tolerating",
    "transformed",
)
