"""The tests mirror the source: `tests/<room>/test_<module>.py` holds `kafkalet/<room>/<module>.py` to its claims."""
