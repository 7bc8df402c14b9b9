"""The metadata log of Apache Kafka's KRaft controllers.

image_records   converts a metadata image to records
snapshot        the contents of a snapshot file
exporting       gives a data directory what Apache Kafka needs to open it
"""
