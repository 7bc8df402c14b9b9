"""`tools.recording.errors_of_apis`: the table of errors of each API."""

from kafkalet.protocol.errors import Code
from kafkalet.protocol.releases import versions_of
from tools.recording.errors_of_apis import REASONS, errors_of_apis
from tools.recording.witnesses import witnesses
from tools.reference.recorded_errors import RELEASES

ANYWHERE = {Code.UNKNOWN_SERVER_ERROR, Code.ILLEGAL_SASL_STATE}
NOT_IN_THE_TABLE = {
    ("OffsetFetch", Code.UNKNOWN_TOPIC_OR_PARTITION),  # with ZooKeeper
    ("LeaveGroup", Code.UNSUPPORTED_VERSION),  # in 3.4
}


def test_table_has_the_apis_that_the_recorded_releases_serve_to_clients() -> None:
    assert set(errors_of_apis()) == {api.title for release in RELEASES for api in versions_of(release)}


def test_every_recorded_error_is_in_the_table() -> None:
    missing = {
        (api, code)
        for api, code in witnesses().errors
        if api in errors_of_apis() and code not in errors_of_apis()[api] and code not in ANYWHERE
    }
    assert missing == NOT_IN_THE_TABLE, "add these errors to the table in errors_of_apis.py"


def test_no_error_that_cannot_be_provoked_is_recorded() -> None:
    recorded = witnesses().errors
    wrong = [(api, code.name) for api, errors in errors_of_apis().items() for code in errors if errors[code]]
    provoked = [(api, name) for api, name in wrong if (api, Code[name]) in recorded]
    assert provoked == [], f"remove the reasons of these errors from the table in errors_of_apis.py: {provoked}"


def test_every_reason_is_used() -> None:
    assert {reason for errors in errors_of_apis().values() for reason in errors.values() if reason} == {
        *REASONS.values()
    }
