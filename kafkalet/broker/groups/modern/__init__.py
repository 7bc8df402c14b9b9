"""What consumer groups and share groups have in common: the broker assigns their partitions.

group           epochs, target assignment, and changes by records
members         the members of a group, and how many of them subscribe to each topic
records         a change that has not been written to the log yet
timers          the timeouts of members
topics, xxh3    the subscribed topics of a group and the hash of their metadata
"""
