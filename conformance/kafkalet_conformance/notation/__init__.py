"""Requests, responses and record batches as plain data, and back; see docs/scenario-format.md."""
