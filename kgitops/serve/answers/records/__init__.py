"""The answers to requests of producers, consumers and transactions."""
