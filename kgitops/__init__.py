"""Declare what an Apache Kafka cluster should hold, review the plan, apply exactly that plan."""

__version__ = "0.1.0"
