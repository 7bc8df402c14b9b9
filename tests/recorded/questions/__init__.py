"""The scenarios to record, one module per group of APIs; see `asking.py` for how to write one."""
