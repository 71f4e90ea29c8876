"""Benchmarks: one file, one question. They are run by hand (``python -m bench.pack``) and never as tests."""
