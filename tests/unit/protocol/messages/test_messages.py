import subprocess
import sys

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.messages import request_type, response_type
from kafkalet.protocol.schema import Struct

SPOKEN = [api for api in Api if api.client_facing]


@pytest.mark.parametrize("api", SPOKEN, ids=str)
def test_every_api_has_a_request_and_a_response(api: Api) -> None:
    request, response = request_type(api), response_type(api)
    assert request.RESPONSE is response
    assert request.API is response.API is api
    assert request.__module__ == response.__module__ == f"kafkalet.protocol.messages.{api.module}"
    assert (request.__name__, response.__name__) == (f"{api.title}Request", f"{api.title}Response")


@pytest.mark.parametrize("api", SPOKEN, ids=str)
def test_messages_have_the_versions_of_their_api(api: Api) -> None:
    for message in (request_type(api), response_type(api)):
        assert api.versions == message.VERSIONS
        assert api.flexible == message.FLEXIBLE


@pytest.mark.parametrize("api", SPOKEN, ids=str)
def test_fields_exist_in_some_version_of_their_message(api: Api) -> None:
    for message in (request_type(api), response_type(api)):
        for where, field in every_field(message, message.__name__):
            assert field.versions.low <= api.versions.high, where
            assert field.versions.high >= api.versions.low, where
            assert field.tag is None or field.versions.low in api.flexible, where


def every_field(struct: type[Struct], where: str):  # type: ignore[no-untyped-def]
    for field in struct.FIELDS:
        yield f"{where}.{field.name}", field
        if field.struct:
            yield from every_field(field.struct, f"{where}.{field.name}")


@pytest.mark.parametrize("api", SPOKEN, ids=str)
def test_module_docstring_names_the_api_and_its_newest_version(api: Api) -> None:
    text = sys.modules[request_type(api).__module__].__doc__ or ""
    first, _, rest = text.partition("\n")
    assert first.startswith(f"{api.title} ({int(api)}): ")
    assert first.endswith(".")
    if api.versions.high > api.versions.low:
        assert f"v{api.versions.high}" in rest


def test_inter_broker_apis_have_no_messages() -> None:
    with pytest.raises(LookupError, match="LeaderAndIsr"):
        request_type(Api.LEADER_AND_ISR)


def test_messages_are_imported_on_first_use_of_their_api() -> None:
    program = (
        "import sys\n"
        "from kafkalet.protocol.api import Api\n"
        "from kafkalet.protocol.messages import request_type\n"
        "request_type(Api.HEARTBEAT)\n"
        "print(*sorted(name for name in sys.modules if name.startswith('kafkalet.protocol.messages.')))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["kafkalet.protocol.messages.heartbeat"]
