"""Cleans the logs of a data directory, one after the other (Kafka's LogCleaner and its CleanerThread).

A log that cannot be cleaned because of its contents is left out from then on, as in Kafka. Compacted logs are also
subject to retention here: segments below the log start offset are deleted, and with `cleanup.policy=compact,delete`
expired ones, too. Kafka's thread does the same after each round.
"""

import logging
from collections.abc import Callable, Collection

from kafkalet.protocol.errors import KafkaError
from kafkalet.storage.checkpoints import TopicPartition
from kafkalet.storage.cleaner_state import CleanerState, Cleaning, CleaningAborted
from kafkalet.storage.failures import StorageFailed
from kafkalet.storage.files import explain
from kafkalet.storage.index import OutOfOrder
from kafkalet.storage.log import Log
from kafkalet.storage.segment import IndexFull

from .cleaner import CleanerSettings, Round, clean
from .offset_map import MapTooSmall
from .record_filter import CannotClean
from .selection import LogToClean, filthiest

_LOG = logging.getLogger(__name__)


class LogCleaner:
    """The cleaner of one data directory. `logs` returns the logs of the directory."""

    def __init__(self, logs: Callable[[], Collection[Log]], state: CleanerState) -> None:
        self.logs = logs
        self.state = state

    async def clean_filthiest(
        self, settings: CleanerSettings, now_ms: int, skipped: Collection[Log] = ()
    ) -> tuple[Log, Round | None] | None:
        """Clean the log with the largest dirty ratio, except those in `skipped`.

        Return the log with the result, which is None if the round was aborted or failed. Return None if no log needs to
        be cleaned.
        """
        logs = [log for log in self.logs() if log not in skipped and log.failures.offline is None]
        found = filthiest(logs, self.state, now_ms)
        if found is None:
            return None
        return found.log, await self._clean(found, settings, now_ms)

    async def _clean(self, found: LogToClean, settings: CleanerSettings, now_ms: int) -> Round | None:
        log, key = found.log, (found.log.topic, found.log.partition)
        cleaning = self.state.in_progress[key] = Cleaning()
        _LOG.info(
            "cleaning %s from offset %d to %d", log.name, found.first_dirty_offset, found.first_uncleanable_offset
        )
        try:
            result = await clean(found, cleaning, settings, now_ms)
            self.state.offsets[key] = result.end_offset
            await cleaning.step(self.state.write)
        except CleaningAborted:
            return None
        except StorageFailed as error:
            _LOG.error("cleaning of %s failed: %s", log.name, error.reason)
            return None
        except OSError as error:  # tried again later
            if not cleaning.is_aborted:
                _LOG.error("cleaning of %s failed: %s", log.name, explain(error))
                log.local.environment.files.on_failure(error)
            return None
        except Exception as error:  # noqa: BLE001 - any other error would happen again
            if not cleaning.is_aborted:
                self._mark_uncleanable(key, error)
            return None
        except GeneratorExit:  # the broker is being closed
            cleaning.abort()
            raise
        finally:
            if self.state.in_progress.get(key) is cleaning:
                del self.state.in_progress[key]
        _LOG.info(
            "cleaned %s (dirty section = [%d, %d]): %d bytes before, %d after; %d records before, %d after",
            log.name,
            *result,
        )
        return result

    def _mark_uncleanable(self, key: TopicPartition, error: Exception) -> None:
        if not isinstance(error, CannotClean | IndexFull | KafkaError | MapTooSmall | OutOfOrder):
            _LOG.error("unexpected error in the log cleaner", exc_info=error)
        reason = error.message or error.code.name if isinstance(error, KafkaError) else str(error)
        self.state.mark_uncleanable(key, reason)

    def delete_old_segments(self) -> list[Log]:
        """Apply retention to the compacted logs. Return those whose segments were deleted."""
        changed = []
        for log in self.logs():
            key = log.topic, log.partition
            if log.config.is_compacted and key not in self.state.in_progress and key not in self.state.uncleanable:
                try:
                    if log.apply_retention():
                        changed.append(log)
                except StorageFailed as error:
                    _LOG.error("retention of %s failed: %s", log.name, error.reason)
        return changed
