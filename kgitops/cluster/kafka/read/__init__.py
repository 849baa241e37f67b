"""The state of a Kafka cluster, read in few, large, parallel requests."""
