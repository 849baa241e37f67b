"""Java, Kafka's jars, and the JVMs that run them."""
