"""Kafka's resources as frozen values."""
