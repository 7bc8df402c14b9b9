"""The same history under different layouts: what clients see may not depend on how a broker stores and serves it."""
