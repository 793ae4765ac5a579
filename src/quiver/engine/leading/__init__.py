"""Who may work: election, shards, and the fence of the lease."""
