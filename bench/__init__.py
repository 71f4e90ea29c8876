"""Benchmarks: one folder, one question. Run by hand (``python -m bench.pack``), never as tests."""
