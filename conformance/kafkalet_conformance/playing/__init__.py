"""Performs the steps of a scenario against a broker, and compares responses."""
