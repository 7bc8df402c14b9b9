"""Records the responses of a broker, and writes the catalog of the recorded scenarios."""
