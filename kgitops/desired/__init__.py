"""The desired state: the declarations of all manifests in Kafka's normal form."""
