"""A plan as one HTML file that opens from disk, without a network, with or without JavaScript."""
