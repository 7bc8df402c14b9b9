"""Histories by chance: producers, transactions, groups and restarts, against plain models of what must be visible."""
