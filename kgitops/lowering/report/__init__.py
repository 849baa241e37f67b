"""The lowering report: deviations from virtual clusters on a Kafka without them."""
