"""Made-up series of samples."""

import random


def steady(n, noise=0.001):
    draw = random.Random(n)
    return [1.0 + draw.gauss(0, noise) for _ in range(n)]
