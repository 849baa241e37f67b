"""The registry's topic on a Kafka cluster: created, read, and written in transactions."""
