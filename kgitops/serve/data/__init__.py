"""The records of a served cluster: one copy of each partition, without replication or retention.

What brokers keep in segments and index files is in the store's rows here. ``partition_log.py`` is
what a broker knows of one partition, found again by replaying the headers of its batches, and
``data_plane.py`` holds all of them. ``producers.py`` and ``batch_checks.py`` decide, as values,
whether a batch is taken.
"""
