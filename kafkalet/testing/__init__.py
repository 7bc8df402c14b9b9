"""Support for test suites. pytest loads `plugin.py` automatically if kafkalet is installed."""
