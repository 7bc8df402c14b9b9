"""Support for test suites. pytest loads `plugin.py` automatically if kafkalet is installed.

kafkalet.testing.KafkaTestCase      a test case of unittest with a broker
"""

TYPE_CHECKING = False  # `typing` is not imported, because `import kafkalet` and pytest import this package
if TYPE_CHECKING:
    from typing import Any

    from .cases import KafkaTestCase

__all__ = ["KafkaTestCase"]


def __getattr__(name: str) -> "Any":
    if name != "KafkaTestCase":
        raise AttributeError(f"module 'kafkalet.testing' has no attribute {name!r}")
    from .cases import KafkaTestCase

    return KafkaTestCase
