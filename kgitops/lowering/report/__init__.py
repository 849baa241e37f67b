"""What a Kafka without virtual clusters does not keep exactly."""
