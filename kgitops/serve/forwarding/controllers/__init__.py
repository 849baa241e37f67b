"""The controllers' side: they unpack Envelopes, and have requests decided."""
