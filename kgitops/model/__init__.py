"""Kafka's resources as frozen values; knows nothing of files or brokers."""
