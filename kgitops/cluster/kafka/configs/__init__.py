"""The librdkafka configs of a cluster, checked and turned into options for both clients."""
