"""Kafka's topic configs: names, types, normal forms and rules."""
