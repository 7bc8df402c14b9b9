"""Check that the offsets in checkpoint files exist in the log.

    log start        at most the log end offset; if it is below the first segment, it is outdated and ignored
    high watermark   at most the log end offset
    recovery point   at most the log end offset; equal to it after a clean shutdown
    cleaner          at most the log end offset; otherwise ignored
    leader epochs    each starts at or before the log end offset

Checkpoints are written periodically, so they may lag behind, but they must never be ahead.
"""

from __future__ import annotations

import os

from kafkalet import formats

from .findings import Findings
from .surroundings import CLEANED_UP_TO, Surroundings


def check_checkpoints(
    around: Surroundings, log_path: str, log_end_offset: int, findings: Findings, *, is_live: bool
) -> None:
    """Compare checkpoints with the log end offset. Live logs are skipped because they may have grown since."""
    if is_live:
        return
    for name, offset, what in (
        (formats.LOG_START_OFFSETS, around.log_start_offset, "log start offset"),
        (formats.HIGH_WATERMARKS, around.high_watermark, "high watermark"),
        (formats.RECOVERY_POINTS, around.recovery_point, "recovery point"),
        (CLEANED_UP_TO, around.cleaned_up_to, "cleaner offset"),
    ):
        if offset is not None and offset > log_end_offset:
            message = f"the {what} is {offset}, but the log ends at {log_end_offset}"
            path = os.path.join(around.directory, name)
            findings.add("checkpoint", message, fault=f"ahead-{name}", file=path, offset=offset)
    point = around.recovery_point
    if around.is_closed and point is not None and point < log_end_offset:
        message = f"the recovery point is {point} after a clean shutdown, but the log ends at {log_end_offset}"
        path = os.path.join(around.directory, formats.RECOVERY_POINTS)
        findings.add("checkpoint", message, fault=f"behind-{formats.RECOVERY_POINTS}", file=path, offset=point)
    for epoch, start_offset in around.epochs or ():
        if start_offset > log_end_offset:
            message = f"leader epoch {epoch} starts at {start_offset}, but the log ends at {log_end_offset}"
            path = os.path.join(log_path, formats.LEADER_EPOCHS)
            findings.add("leader-epoch", message, fault="epoch-ahead", file=path, offset=start_offset)
