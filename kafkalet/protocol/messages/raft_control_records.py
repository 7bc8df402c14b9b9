"""The values of control records in the log and in the snapshots of a KRaft quorum.

A snapshot begins with a control record SNAPSHOT_HEADER and ends with SNAPSHOT_FOOTER. A leader starts its epoch with
LEADER_CHANGE. `version` is the version of the message, too.

LeaderChangeMessage
v1  adds the directory ids of voters (KIP-853)
"""

from kafkalet.protocol.schema import Message, Struct, field
from kafkalet.protocol.wire import ZERO_UUID, Int16, Int32, Int64, String, UInt16, Uuid


class LeaderChangeMessage(Message, versions="0-1", flexible="0+"):
    class Voter(Struct):
        voter_id: Int32
        voter_directory_id: Uuid = field("1+", default=ZERO_UUID)

    version: Int16
    leader_id: Int32
    voters: list[Voter]
    granting_voters: list[Voter]


class SnapshotHeaderRecord(Message, versions="0", flexible="0+"):
    version: Int16
    last_contained_log_timestamp: Int64  # in milliseconds


class SnapshotFooterRecord(Message, versions="0", flexible="0+"):
    version: Int16


class KRaftVersionRecord(Message, versions="0", flexible="0+"):
    version: Int16
    kraft_version: Int16


class VotersRecord(Message, versions="0", flexible="0+"):
    class Voter(Struct):
        class Endpoint(Struct):
            name: String
            host: String
            port: UInt16

        class SupportedVersions(Struct):
            min_supported_version: Int16
            max_supported_version: Int16

        voter_id: Int32
        voter_directory_id: Uuid
        endpoints: list[Endpoint]
        kraft_version_feature: SupportedVersions

    version: Int16
    voters: list[Voter]
