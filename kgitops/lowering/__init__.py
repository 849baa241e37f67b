"""Virtual clusters on a Kafka that has none, as plain functions over values."""
