"""Programs for those who work on kafkalet. They are not part of the package."""
