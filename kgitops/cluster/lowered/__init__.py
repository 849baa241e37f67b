"""A cluster with virtual clusters around a physical one whose brokers have none."""
