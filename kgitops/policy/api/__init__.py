"""What policies in Python are written against: KIP-201's interfaces and values."""
