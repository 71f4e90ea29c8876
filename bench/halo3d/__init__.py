"""``python -m bench.halo3d``: a 3-D halo exchange by the library, by hand and with TEMPI."""
