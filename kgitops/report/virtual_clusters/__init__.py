"""Virtual clusters in words and as pictures."""
