"""Names in certificates, in the form that Java writes them."""

from kafkalet.broker.security.distinguished_names import name_of


def test_last_attribute_comes_first_and_commas_are_escaped() -> None:
    name = bytes.fromhex(
        "3035310b300906035504061302444531163014060355040a0c0d4578616d706c652c20496e632e310e300c06035504030c05616c696365"
    )
    assert name_of(name) == "CN=alice,O=Example\\, Inc.,C=DE"
