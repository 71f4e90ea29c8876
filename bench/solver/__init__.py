"""``python -m bench.solver``: a solver loop, its exchanges and its reductions."""
