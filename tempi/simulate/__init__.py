"""``tempi simulate``: the time of an exchange on a cluster, from a profile and a network. No MPI here."""
