"""What the pipeline takes and how fast it is: one script for each part of it."""
