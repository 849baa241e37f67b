"""Groups whose members the coordinator assigns itself (KIP-848).

As in the folder above, a group is a value and each request a pure function: ``heartbeats.py``
takes ConsumerGroupHeartbeat, ``reconciling.py`` brings a member step by step from the partitions
that it has to those that it is to have, ``assigning.py`` says which those are, and
``coordinator.py`` keeps the groups and their timers.
"""
