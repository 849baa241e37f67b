"""Logical requests as Kafka's requests, and the brokers' answers as results."""
