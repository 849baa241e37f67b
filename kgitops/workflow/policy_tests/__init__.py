"""Tests of policies: read, run, and what they cover; mutants of the policies, run through them."""
