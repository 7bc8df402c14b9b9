"""What all tests share."""

from hypothesis import settings

# How long an example takes says more about what else the machine does than about us.
settings.register_profile("kafkalet", deadline=None)
settings.load_profile("kafkalet")
