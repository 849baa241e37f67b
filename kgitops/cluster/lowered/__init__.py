"""Virtual clusters on a Kafka whose brokers know none: a cluster around the physical one."""
