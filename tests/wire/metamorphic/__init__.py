"""The same history with different layouts: what clients see must not depend on how a broker stores and serves it."""
