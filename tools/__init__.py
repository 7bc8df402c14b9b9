"""Programs for contributors to kafkalet. They are not part of the package."""
