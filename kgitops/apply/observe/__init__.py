"""Reading the objects that steps are about, and deciding whether a request took effect."""
