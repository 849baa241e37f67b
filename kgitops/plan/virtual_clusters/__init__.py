"""Virtual clusters, their members and rights, and what they take on a Kafka without them."""
