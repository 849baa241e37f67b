"""Virtual clusters, members and links as declared, and what must hold between them."""
