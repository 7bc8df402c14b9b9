"""Records the answers of a broker, and writes the catalogue of the recorded scenarios."""
