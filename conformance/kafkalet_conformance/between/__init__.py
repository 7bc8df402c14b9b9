"""Compares two live brokers with random histories of requests."""
