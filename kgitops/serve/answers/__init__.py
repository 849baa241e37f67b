"""The answers to Kafka's requests, a module a family; ``table.py`` lists them."""
