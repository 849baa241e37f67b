"""Decides admin requests, a module for each kind, as Kafka's controllers do."""
