"""The metadata log of Apache Kafka's KRaft controllers.

Reading, to open a directory of Kafka:

metadata_log    the files of the log and its snapshots: finds and reads their records
replay          applies the records to a metadata image
opening         decides whether a data directory is opened from its metadata log or from kafkalet.json

Writing, so that Kafka can open a directory of kafkalet:

image_records   converts a metadata image to records
snapshot        the contents of a snapshot file
exporting       gives a data directory what Apache Kafka needs to open it
"""
