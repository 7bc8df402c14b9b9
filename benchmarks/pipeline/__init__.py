"""Benchmarks of the pipeline's speed and memory use, one script per part."""
