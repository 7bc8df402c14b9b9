"""Judges a broker: performs recorded scenarios and collects the results."""
