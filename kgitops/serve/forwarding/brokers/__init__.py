"""The brokers' side: they check, ask the controller, and pass its answer on."""
