"""The interfaces and values for policies in Python, after KIP-201."""
