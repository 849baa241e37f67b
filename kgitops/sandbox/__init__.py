"""A real Apache Kafka on this machine, for trying things out and for tests."""
