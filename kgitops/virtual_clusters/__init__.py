"""KIP-1134's rules as plain functions over values: what brokers, or kgitops for them, decide."""
