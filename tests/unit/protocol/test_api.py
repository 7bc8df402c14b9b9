import subprocess
import sys

from kafkalet.protocol.api import BY_KEY, BY_TITLE, Api
from kafkalet.protocol.fields import Versions


def test_integer_value_of_api_is_its_key() -> None:
    assert int(Api.LIST_OFFSETS) == 2
    assert BY_KEY[2] is Api.LIST_OFFSETS


def test_api_keys_are_consecutive() -> None:
    assert [int(api) for api in Api] == list(range(95))


def test_api_is_found_by_kafka_name() -> None:
    assert BY_TITLE["ListOffsets"] is Api.LIST_OFFSETS
    assert str(Api.LIST_OFFSETS) == "ListOffsets"


def test_member_module_and_title_have_the_same_name() -> None:
    for api in Api:
        assert api.module == api.name.lower()
        assert api.title == "".join(word.capitalize() for word in api.module.split("_"))


def test_versions_and_flexible_versions_are_parsed() -> None:
    assert Api.FETCH.versions == Versions(0, 18)
    assert 11 not in Api.FETCH.flexible
    assert 12 in Api.FETCH.flexible


def test_two_apis_have_no_flexible_versions() -> None:
    spoken = [api for api in Api if api.client_facing]
    assert [api for api in spoken if api.versions.high not in api.flexible] == [Api.SASL_HANDSHAKE, Api.OFFSET_DELETE]


def test_inter_broker_apis_are_marked() -> None:
    assert Api.FETCH.client_facing
    assert not Api.CONTROLLED_SHUTDOWN.client_facing


def test_api_module_imports_no_messages_and_no_compiler() -> None:
    program = (
        "import sys, kafkalet.protocol.api\nprint(*(name for name in sys.modules if name.startswith('kafkalet.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"kafkalet.protocol.schema", "kafkalet.protocol.compiler"} & set(done.stdout.split())
    assert "protocol.messages" not in done.stdout
