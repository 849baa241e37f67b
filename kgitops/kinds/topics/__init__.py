"""Planning of topics: their shape, configs, replicas and records."""
