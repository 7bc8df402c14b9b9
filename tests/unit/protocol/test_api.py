import subprocess
import sys

from kafkalet.protocol.api import BY_KEY, BY_TITLE, Api
from kafkalet.protocol.fields import Versions


def test_an_api_is_its_key() -> None:
    assert int(Api.LIST_OFFSETS) == 2
    assert BY_KEY[2] is Api.LIST_OFFSETS


def test_keys_are_numbered_without_a_gap() -> None:
    assert [int(api) for api in Api] == list(range(95))


def test_an_api_is_found_by_the_name_that_kafka_gives_it() -> None:
    assert BY_TITLE["ListOffsets"] is Api.LIST_OFFSETS
    assert str(Api.LIST_OFFSETS) == "ListOffsets"


def test_members_modules_and_titles_are_one_name_in_three_spellings() -> None:
    for api in Api:
        assert api.module == api.name.lower()
        assert api.title == "".join(word.capitalize() for word in api.module.split("_"))


def test_versions_and_flexible_versions_are_read_from_the_line() -> None:
    assert Api.FETCH.versions == Versions(0, 18)
    assert 11 not in Api.FETCH.flexible
    assert 12 in Api.FETCH.flexible


def test_two_apis_never_became_flexible() -> None:
    spoken = [api for api in Api if api.client_facing]
    assert [api for api in spoken if api.versions.high not in api.flexible] == [Api.SASL_HANDSHAKE, Api.OFFSET_DELETE]


def test_apis_among_brokers_are_told_apart() -> None:
    assert Api.FETCH.client_facing
    assert not Api.CONTROLLED_SHUTDOWN.client_facing


def test_no_message_and_no_compiler_is_imported_with_the_list() -> None:
    program = (
        "import sys, kafkalet.protocol.api\nprint(*(name for name in sys.modules if name.startswith('kafkalet.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"kafkalet.protocol.schema", "kafkalet.protocol.compiler"} & set(done.stdout.split())
    assert "protocol.messages" not in done.stdout
