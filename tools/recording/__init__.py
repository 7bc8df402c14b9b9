"""Records the responses of a broker, and writes the catalogue of the recorded scenarios."""
