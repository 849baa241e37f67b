"""Java, Kafka's jars, and how a JVM with them is started."""
