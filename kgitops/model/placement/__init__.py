"""Which brokers hold a topic's replicas."""
