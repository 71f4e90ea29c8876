"""Processes under the shim: the libtempi.so for each MPI, the launchers, the environment of the ranks."""
