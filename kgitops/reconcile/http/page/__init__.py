"""The page for people: the contents as values, and a template that only places them."""
