"""The coordinator of classic consumer groups: members, generations, and their rebalances.

``Group`` (``group.py``) is an immutable value. Each request is a pure function from a group to the
group after it, with the time given: ``joining.py``, ``syncing.py``, ``checks.py`` (Heartbeat),
``expiring.py`` (LeaveGroup, and what time alone brings about); ``rebalancing.py`` has the steps
that these share. They follow org.apache.kafka.coordinator.group.GroupMetadataManager.

A request that waits has a ticket. What a step answers it puts into ``Group.answers`` by ticket, and
``coordinator.py``, which alone knows the event loop, hands the answers out and sets one timer a
group. Members are in memory: after a restart they join again, as they do when a coordinator of
Kafka's has lost them. Committed offsets are in the store.

``share_groups.py`` has the members of share groups (KIP-932), and ``share_partition.py`` the
records that these have in flight.
"""
