"""Settings of listeners with SASL, for tests."""

from kafkalet.broker.config.release import Release
from kafkalet.broker.security.sasl.listener import SaslListener
from kafkalet.broker.security.scram_credentials import ScramMechanism, credential_of_password
from kafkalet.clock import ManualClock

PLAIN_USERS = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="alice-secret" user_bob="bob-secret";'
)
PLAIN = {"sasl.enabled.mechanisms": "PLAIN", "plain.sasl.jaas.config": PLAIN_USERS}
ALL = PLAIN | {"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"}
CREDENTIALS = {("alice", kind): credential_of_password(kind, "alice-secret") for kind in ScramMechanism}


def sasl_listener(values: dict[str, str], clock: ManualClock | None = None, release: str = "newest") -> SaslListener:
    """Return a listener whose delayed calls are never made."""
    return SaslListener(values, CREDENTIALS, clock or ManualClock(), lambda call: None, Release.of(release))
