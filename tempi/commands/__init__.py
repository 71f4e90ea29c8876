"""The commands of ``tempi`` that need no room of their own: run, explain, bench."""
