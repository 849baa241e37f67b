"""What the manifests ask for, in Kafka's normal form."""
