"""The only place that knows Spark: a session, and work spread over its executors."""
