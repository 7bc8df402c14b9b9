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

from .companion_files import CLEANED_UP_TO, CompanionFiles
from .findings import Findings


def check_checkpoints(
    companions: CompanionFiles, log_path: str, log_end_offset: int, findings: Findings, *, is_live: bool
) -> None:
    """Compare checkpoints with the log end offset. Live logs are skipped because they may have grown since."""
    if is_live:
        return
    for name, offset, what in (
        (formats.LOG_START_OFFSETS, companions.log_start_offset, "log start offset"),
        (formats.HIGH_WATERMARKS, companions.high_watermark, "high watermark"),
        (formats.RECOVERY_POINTS, companions.recovery_point, "recovery point"),
        (CLEANED_UP_TO, companions.cleaned_up_to, "cleaner offset"),
    ):
        if offset is not None and offset > log_end_offset:
            message = f"the {what} is {offset}, but the log ends at {log_end_offset}"
            path = os.path.join(companions.directory, name)
            findings.add("checkpoint", message, fault=f"ahead-{name}", file=path, offset=offset)
    point = companions.recovery_point
    if companions.is_closed and point is not None and point < log_end_offset:
        message = f"the recovery point is {point} after a clean shutdown, but the log ends at {log_end_offset}"
        path = os.path.join(companions.directory, formats.RECOVERY_POINTS)
        findings.add("checkpoint", message, fault=f"behind-{formats.RECOVERY_POINTS}", file=path, offset=point)
    for epoch, start_offset in companions.epochs or ():
        if start_offset > log_end_offset:
            message = f"leader epoch {epoch} starts at {start_offset}, but the log ends at {log_end_offset}"
            path = os.path.join(log_path, formats.LEADER_EPOCHS)
            findings.add("leader-epoch", message, fault="epoch-ahead", file=path, offset=start_offset)
