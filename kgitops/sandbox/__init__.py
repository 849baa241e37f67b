"""A real Apache Kafka on this machine, for tries and for tests."""
