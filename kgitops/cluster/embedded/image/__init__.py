"""The metadata image, and the records that alone change it."""
