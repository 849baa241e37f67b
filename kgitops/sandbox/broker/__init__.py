"""The brokers of a sandbox: their layout, files, certificates and processes."""
