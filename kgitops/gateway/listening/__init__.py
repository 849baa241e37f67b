"""Listeners of the gateway and their certificates; the addresses of brokers, on both sides."""
