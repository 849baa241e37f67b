"""Stands between ordinary clients and a Kafka, and translates the names of virtual clusters."""
