"""The commands of ``tempi`` that need no folder of their own: run, explain, bench."""
