"""The configs in effect of topics, brokers, groups and client metrics, and their sources."""
