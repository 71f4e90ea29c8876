"""How right and how fast ``tempi simulate`` is."""
