"""Groups of Kafka Streams applications (KIP-1071): members run the tasks of a topology, which the broker assigns.

topology        the subtopologies of an application, and the topics that they need
members         the members, and which process runs which task
assignor        distributes the tasks to the members
records         the records in __consumer_offsets
group           a group: its state, configuration and description, and how records change it
reconciliation  moves a member towards its target assignment
heartbeat       heartbeats of members that join, stay or leave
"""
