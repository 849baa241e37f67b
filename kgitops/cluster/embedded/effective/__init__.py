"""The configs in effect of topics, brokers, groups and client metrics, and where each comes from.

``known_configs.jsonl`` has the configs of a Kafka 4.3 broker, as it describes them itself
(``tools/broker_configs.py``); those of topics are in ``kgitops.model``.
"""
