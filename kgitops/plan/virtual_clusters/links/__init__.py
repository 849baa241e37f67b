"""Topic links, and topics that are declared in a virtual cluster."""
