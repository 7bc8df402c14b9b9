"""The broker: clients, leadership, coordination. This room owns the event loop.

socket     listener.py, connection.py, receiving.py, sending.py, surroundings.py
request    router.py: version, handler, answer; context.py: what a handler may use
answer     apis/, one module per API; purgatory.py: answers that have to wait
partition  partition.py: leadership over a log; leadership.py, replication.py: who leads and who follows
log        kafkalet.storage

the whole        cluster.py: brokers over one metadata image (metadata.py); node.py: one of them;
                     running.py: in which event loop; home.py: where the files are; views.py: what users see;
                     upkeep.py: what nobody asks for
    topics           new_topics.py, assignments.py
configuration    config.py: what is acted on; catalog/: all that Kafka has; config_entries.py, documentation.py: how
                 it is described; reconfiguration.py: how it changes
the release      release.py: the rules in which releases of Kafka differ; features.py
producers        producer_ids.py
fetches          fetch_sessions.py
data from files  load.py, record_files.py, partitioner.py
"""
