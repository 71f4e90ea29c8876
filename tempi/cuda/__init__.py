"""CUDA through its driver and through libtempi.so: GPUs, streams, memory. It needs no CUDA package."""
