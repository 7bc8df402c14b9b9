"""Do the checkpoints of a log directory name offsets that the log has?

    log start        at most the log end offset; one below the first segment is old, and does not count
    high watermark   at most the log end offset
    recovery point   at most the log end offset; after a clean stop it is that
    cleaner          at most the log end offset; what it says beyond is not believed
    leader epochs    begin at the log end offset at the latest

All of them may lag behind, for they are written from time to time; none may be ahead.
"""

from __future__ import annotations

import os

from kafkalet import formats

from .findings import Findings
from .surroundings import CLEANED_UP_TO, Surroundings


def check_checkpoints(
    around: Surroundings, log_path: str, log_end_offset: int, findings: Findings, *, is_live: bool
) -> None:
    """Compare what was read beside the log with where it ends. A live log may have grown since."""
    if is_live:
        return
    for name, offset, what in (
        (formats.LOG_START_OFFSETS, around.log_start_offset, "log start offset"),
        (formats.HIGH_WATERMARKS, around.high_watermark, "high watermark"),
        (formats.RECOVERY_POINTS, around.recovery_point, "recovery point"),
        (CLEANED_UP_TO, around.cleaned_up_to, "offset up to which it was compacted"),
    ):
        if offset is not None and offset > log_end_offset:
            message = f"the {what} is {offset}, and the log ends at {log_end_offset}"
            path = os.path.join(around.directory, name)
            findings.add("checkpoint", message, fault=f"ahead-{name}", file=path, offset=offset)
    point = around.recovery_point
    if around.is_closed and point is not None and point < log_end_offset:
        message = f"the recovery point is {point} after a clean stop, and the log ends at {log_end_offset}"
        path = os.path.join(around.directory, formats.RECOVERY_POINTS)
        findings.add("checkpoint", message, fault=f"behind-{formats.RECOVERY_POINTS}", file=path, offset=point)
    for epoch, start_offset in around.epochs or ():
        if start_offset > log_end_offset:
            message = f"leader epoch {epoch} begins at {start_offset}, and the log ends at {log_end_offset}"
            path = os.path.join(log_path, formats.LEADER_EPOCHS)
            findings.add("leader-epoch", message, fault="epoch-ahead", file=path, offset=start_offset)
