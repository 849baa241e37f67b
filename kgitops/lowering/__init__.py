"""Virtual clusters on a Kafka that has none: what stands for them there, as plain functions."""
