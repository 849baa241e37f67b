"""Virtual clusters, their links and their members."""
