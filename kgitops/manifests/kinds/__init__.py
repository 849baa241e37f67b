"""The models of the manifest kinds, and what is made from them."""
