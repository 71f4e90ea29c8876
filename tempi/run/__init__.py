"""Processes under the shim: which libtempi.so fits which MPI, the launchers, the environment of the ranks."""
