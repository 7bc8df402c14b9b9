"""For test suites: pytest finds `plugin.py` by itself where kafkalet is installed."""
