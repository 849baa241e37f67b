"""Reading the state of a Kafka cluster in few, large, parallel requests."""
