"""The loop over HTTP: health, metrics, status, a page for people, and a hint to take a turn soon.

Everything is read from one value, the loop's status; nothing here changes what is on a cluster.
"""
