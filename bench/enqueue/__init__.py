"""Exchanges that are queued in a CUDA stream."""
