"""Examples: run from the folder above."""
