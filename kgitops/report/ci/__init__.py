"""SARIF, JUnit XML and GitHub annotations."""
