"""The adapter for Apache Kafka: kafka-python sends the requests, librdkafka writes the registry."""
