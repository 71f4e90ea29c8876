"""``tempi measure``: the grid of measurements, the ranks that make them, tables and plots of a profile."""
