"""UpdateFeatures v0-2: upgrade or downgrade the features of the cluster (KIP-584).

v1  adds validate_only and the upgrade type, which allows safe or unsafe downgrades (KIP-778)
v2  drops the results of individual features; the top-level error covers all (KIP-1022)

Since Kafka 4.0, either all features of a request change or none. Earlier releases change each feature independently and
sort the results by name, unless they run with ZooKeeper. If a feature is listed twice, its last level is used.

Source: FeatureControlManager; kafka.controller.KafkaController with ZooKeeper.
"""

from kafkalet.broker.cluster.controller import MIN_ISR
from kafkalet.broker.cluster.features import ELIGIBLE_LEADERS, Features
from kafkalet.broker.context import Context
from kafkalet.broker.java_order import order_of_scala_map
from kafkalet.broker.security.acl import Operation
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse

Update = UpdateFeaturesRequest.FeatureUpdate
Answer = UpdateFeaturesResponse.Result

SHARE = "share.version"


def handle(request: UpdateFeaturesRequest, context: Context) -> UpdateFeaturesResponse:
    context.require_on_cluster(Operation.ALTER)
    features = Features(context.release, context.metadata)
    if not context.release.changes_features_together:
        return _change_each(request, features, context)
    try:
        for update in request.feature_updates:
            features.check(update.feature, update.max_version_level, update.upgrade_type, context.node.node_id)
    except KafkaError as error:
        message = f"The update failed for all features since the following feature had an error: {error.message}"
        return UpdateFeaturesResponse(error_code=error.code, error_message=message)
    if not request.validate_only:
        eligible_leaders, share_groups = features.level(ELIGIBLE_LEADERS), features.level(SHARE)
        for update in request.feature_updates:
            features.change(update.feature, update.max_version_level)
        if features.level(ELIGIBLE_LEADERS) > eligible_leaders:
            _keep_min_isr_in_cluster(context)
        if share_groups and not features.level(SHARE):  # SharePartitionManager.onShareVersionToggle
            for broker in context.broker.brokers.values():
                broker.shares.close()
        for broker in context.broker.brokers.values():
            broker.node.cordon_directories()
        context.controller.save()
    # Kafka builds each result from an error code, so a successful result has the message of the code NONE.
    answers = [Answer(feature=update.feature, error_message="NONE") for update in request.feature_updates]
    return UpdateFeaturesResponse(error_message=None, results=answers)


def _keep_min_isr_in_cluster(context: Context) -> None:
    """Replace the min.insync.replicas of individual brokers with one cluster-wide value.

    Eligible leader replicas require this (KIP-966, ConfigurationControlManager.maybeGenerateElrSafetyRecords).
    """
    changed = context.metadata.broker_config
    for config in changed.values():
        if config is not changed.get(None):
            config.pop(MIN_ISR, None)
    changed.setdefault(None, {}).setdefault(MIN_ISR, context.controller.config.static.get(MIN_ISR, "1"))
    context.controller.apply_broker_config()


def _change_each(request: UpdateFeaturesRequest, features: Features, context: Context) -> UpdateFeaturesResponse:
    answers = []
    updates = {update.feature: update for update in request.feature_updates}
    for name in sorted(updates) if context.release.runs_without_zookeeper else order_of_scala_map(updates):
        answer = Answer(feature=name, error_message=None)
        try:
            _change(updates[name], request.validate_only, features, context)
        except KafkaError as error:
            answer.error_code, answer.error_message = error.code, error.message
        answers.append(answer)
    context.controller.save()
    message = "" if context.release.runs_without_zookeeper else None
    return UpdateFeaturesResponse(error_message=message, results=answers)


def _change(update: Update, validate_only: bool, features: Features, context: Context) -> None:
    name, level = update.feature, update.max_version_level
    if not context.release.runs_without_zookeeper:
        raise KafkaError(Code.INVALID_REQUEST, _not_with_zookeeper(update))
    features.check(name, level, update.upgrade_type, context.node.node_id)
    if not validate_only:
        features.change(name, level)


def _not_with_zookeeper(update: Update) -> str:
    """Return the error message of releases with ZooKeeper, which have no features and refuse every change."""
    if not update.feature:
        return "Feature name can not be empty."
    if update.max_version_level >= 1:
        return "Could not apply finalized feature update because the provided feature is not supported."
    if not update.allow_downgrade:
        return (
            f"Can not provide maxVersionLevel: {update.max_version_level} less than 1 without setting the "
            "allowDowngrade flag to true in the request."
        )
    return "Can not delete non-existing finalized feature."
