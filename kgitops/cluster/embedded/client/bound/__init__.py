"""Kafka's requests as bound callers make them: by local names, decided about physical ones."""
