"""A real Apache Kafka behind the port: kafka-python's requests, librdkafka's log."""
