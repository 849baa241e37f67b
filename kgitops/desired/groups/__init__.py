"""Consumer groups of the cluster, and subscriptions to the metrics of clients."""
