"""The log directories that are configured with properties: `log.dirs`, or `log.dir` if that is not set.

Source: kafka.server.KafkaConfig.logDirs.
"""

from collections.abc import Mapping

from kafkalet.properties import InvalidProperty

LOG_DIRS = "log.dirs"
LOG_DIR = "log.dir"


def configured_directories(properties: Mapping[str, str]) -> list[str]:
    """Return the paths in the properties; none if neither is set. Raises InvalidProperty if the property is empty."""
    for name in (LOG_DIRS, LOG_DIR):
        if (value := properties.get(name)) is not None:
            paths = [path.strip() for path in value.split(",")]
            if not (found := [path for path in paths if path]):
                raise InvalidProperty(name, value, "at least one directory is required")
            return found
    return []
