"""Scenarios of our own, one module per group of them; see `asking.py` for how they are written."""
