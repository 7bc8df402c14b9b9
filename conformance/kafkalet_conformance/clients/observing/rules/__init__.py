"""The rules for sequences of requests: one module for each part of the protocol, listed in catalog.py."""
