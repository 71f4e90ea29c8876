"""The parts that benchmarks share: cases, commands, binaries, tables, plots, and C++ headers."""
