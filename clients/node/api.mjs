// A method of each operation of kafkalet's control API.
//
// Written by `python -m tools.clients` from kafkalet/control/openapi.json.

/** The operations of the API. `call` sends a request, and resolves to its response: JSON or bytes. */
export class Api {
  #call

  constructor (call) {
    this.#call = call
  }

  async getCluster () {
    return await this.#call('GET', '/v1/cluster')
  }

  async listTopics (parameters = {}) {
    return await this.#call('GET', `/v1/topics${query(parameters)}`)
  }

  async createTopic (body) {
    return await this.#call('POST', '/v1/topics', body)
  }

  async getTopic (name) {
    return await this.#call('GET', `/v1/topics/${encodeURIComponent(name)}`)
  }

  async deleteTopic (name) {
    return await this.#call('DELETE', `/v1/topics/${encodeURIComponent(name)}`)
  }

  async addPartitions (name, body) {
    return await this.#call('POST', `/v1/topics/${encodeURIComponent(name)}/add-partitions`, body)
  }

  async configureTopic (name, body) {
    return await this.#call('POST', `/v1/topics/${encodeURIComponent(name)}/configure`, body)
  }

  async markTopic (name) {
    return await this.#call('GET', `/v1/topics/${encodeURIComponent(name)}/mark`)
  }

  async getPartition (name, partition) {
    return await this.#call('GET', `/v1/topics/${encodeURIComponent(name)}/partitions/${encodeURIComponent(partition)}`)
  }

  async sendRecords (name, body) {
    return await this.#call('POST', `/v1/topics/${encodeURIComponent(name)}/records`, body)
  }

  async readRecords (name, parameters = {}) {
    return await this.#call('GET', `/v1/topics/${encodeURIComponent(name)}/records${query(parameters)}`)
  }

  async waitForRecords (name, body) {
    return await this.#call('POST', `/v1/topics/${encodeURIComponent(name)}/wait`, body)
  }

  async listGroups () {
    return await this.#call('GET', '/v1/groups')
  }

  async getGroup (groupId) {
    return await this.#call('GET', `/v1/groups/${encodeURIComponent(groupId)}`)
  }

  async deleteGroup (groupId) {
    return await this.#call('DELETE', `/v1/groups/${encodeURIComponent(groupId)}`)
  }

  async evictMember (groupId, body) {
    return await this.#call('POST', `/v1/groups/${encodeURIComponent(groupId)}/evict`, body)
  }

  async rebalanceGroup (groupId) {
    return await this.#call('POST', `/v1/groups/${encodeURIComponent(groupId)}/rebalance`)
  }

  async seekGroup (groupId, body) {
    return await this.#call('POST', `/v1/groups/${encodeURIComponent(groupId)}/seek`, body)
  }

  async waitForLag (groupId, body) {
    return await this.#call('POST', `/v1/groups/${encodeURIComponent(groupId)}/wait-for-lag`, body)
  }

  async waitUntilStable (groupId, body) {
    return await this.#call('POST', `/v1/groups/${encodeURIComponent(groupId)}/wait-until-stable`, body)
  }

  async waitForCommit (groupId, body) {
    return await this.#call('POST', `/v1/groups/${encodeURIComponent(groupId)}/wait-for-commit`, body)
  }

  async moveGroupCoordinator (groupId, body) {
    return await this.#call('POST', `/v1/groups/${encodeURIComponent(groupId)}/move-coordinator`, body)
  }

  async settle (body) {
    return await this.#call('POST', '/v1/settle', body)
  }

  async listShareGroups () {
    return await this.#call('GET', '/v1/share-groups')
  }

  async getShareGroup (groupId) {
    return await this.#call('GET', `/v1/share-groups/${encodeURIComponent(groupId)}`)
  }

  async deleteShareGroup (groupId) {
    return await this.#call('DELETE', `/v1/share-groups/${encodeURIComponent(groupId)}`)
  }

  async readShareGroupRecords (groupId, parameters = {}) {
    return await this.#call('GET', `/v1/share-groups/${encodeURIComponent(groupId)}/records${query(parameters)}`)
  }

  async configureShareGroup (groupId, body) {
    return await this.#call('POST', `/v1/share-groups/${encodeURIComponent(groupId)}/configure`, body)
  }

  async evictShareMember (groupId, body) {
    return await this.#call('POST', `/v1/share-groups/${encodeURIComponent(groupId)}/evict`, body)
  }

  async expireLocks (groupId, body) {
    return await this.#call('POST', `/v1/share-groups/${encodeURIComponent(groupId)}/expire-locks`, body)
  }

  async seekShareGroup (groupId, body) {
    return await this.#call('POST', `/v1/share-groups/${encodeURIComponent(groupId)}/seek`, body)
  }

  async waitForShareGroup (groupId, body) {
    return await this.#call('POST', `/v1/share-groups/${encodeURIComponent(groupId)}/wait`, body)
  }

  async waitForShareLag (groupId, body) {
    return await this.#call('POST', `/v1/share-groups/${encodeURIComponent(groupId)}/wait-for-lag`, body)
  }

  async waitUntilShareGroupIsStable (groupId, body) {
    return await this.#call('POST', `/v1/share-groups/${encodeURIComponent(groupId)}/wait-until-stable`, body)
  }

  async listTransactions () {
    return await this.#call('GET', '/v1/transactions')
  }

  async getTransaction (transactionalId) {
    return await this.#call('GET', `/v1/transactions/${encodeURIComponent(transactionalId)}`)
  }

  async moveTransactionCoordinator (transactionalId, body) {
    return await this.#call('POST', `/v1/transactions/${encodeURIComponent(transactionalId)}/move-coordinator`, body)
  }

  async waitForTransaction (transactionalId, body) {
    return await this.#call('POST', `/v1/transactions/${encodeURIComponent(transactionalId)}/wait`, body)
  }

  async beginTransaction (transactionalId, body) {
    return await this.#call('POST', `/v1/transactions/${encodeURIComponent(transactionalId)}/begin`, body)
  }

  async sendInTransaction (transactionalId, body) {
    return await this.#call('POST', `/v1/transactions/${encodeURIComponent(transactionalId)}/records`, body)
  }

  async sendOffsetsInTransaction (transactionalId, body) {
    return await this.#call('POST', `/v1/transactions/${encodeURIComponent(transactionalId)}/offsets`, body)
  }

  async commitTransaction (transactionalId) {
    return await this.#call('POST', `/v1/transactions/${encodeURIComponent(transactionalId)}/commit`)
  }

  async abortTransaction (transactionalId, body) {
    return await this.#call('POST', `/v1/transactions/${encodeURIComponent(transactionalId)}/abort`, body)
  }

  async listRequests (parameters = {}) {
    return await this.#call('GET', `/v1/requests${query(parameters)}`)
  }

  async clearRequests () {
    return await this.#call('DELETE', '/v1/requests')
  }

  async countRequests (parameters = {}) {
    return await this.#call('GET', `/v1/requests/count${query(parameters)}`)
  }

  async listRequestCounts () {
    return await this.#call('GET', '/v1/requests/counts')
  }

  async listUnsupported () {
    return await this.#call('GET', '/v1/requests/unsupported')
  }

  async waitForRequests (body) {
    return await this.#call('POST', '/v1/requests/wait', body)
  }

  async listConnections () {
    return await this.#call('GET', '/v1/connections')
  }

  async resetConnection (id) {
    return await this.#call('POST', `/v1/connections/${encodeURIComponent(id)}/reset`)
  }

  async halfCloseConnection (id) {
    return await this.#call('POST', `/v1/connections/${encodeURIComponent(id)}/half-close`)
  }

  async blackHoleConnection (id) {
    return await this.#call('POST', `/v1/connections/${encodeURIComponent(id)}/black-hole`)
  }

  async listFaults () {
    return await this.#call('GET', '/v1/faults')
  }

  async addFault (body) {
    return await this.#call('POST', '/v1/faults', body)
  }

  async removeFaults () {
    return await this.#call('DELETE', '/v1/faults')
  }

  async getFault (faultId) {
    return await this.#call('GET', `/v1/faults/${encodeURIComponent(faultId)}`)
  }

  async removeFault (faultId) {
    return await this.#call('DELETE', `/v1/faults/${encodeURIComponent(faultId)}`)
  }

  async releaseFault (faultId) {
    return await this.#call('POST', `/v1/faults/${encodeURIComponent(faultId)}/release`)
  }

  async waitForFault (faultId, body) {
    return await this.#call('POST', `/v1/faults/${encodeURIComponent(faultId)}/wait`, body)
  }

  async getClock () {
    return await this.#call('GET', '/v1/clock')
  }

  async advanceClock (body) {
    return await this.#call('POST', '/v1/clock/advance', body)
  }

  async listSegments (name, partition) {
    return await this.#call('GET', `/v1/topics/${encodeURIComponent(name)}/partitions/${encodeURIComponent(partition)}/segments`)
  }

  async listBatches (name, partition, parameters = {}) {
    return await this.#call('GET', `/v1/topics/${encodeURIComponent(name)}/partitions/${encodeURIComponent(partition)}/batches${query(parameters)}`)
  }

  async runCleaner (body) {
    return await this.#call('POST', '/v1/cleaner/run', body)
  }

  async runRetention () {
    return await this.#call('POST', '/v1/retention/run')
  }

  async runTiering () {
    return await this.#call('POST', '/v1/tiering/run')
  }

  async appendBatches (name, partition, body) {
    return await this.#call('POST', `/v1/topics/${encodeURIComponent(name)}/partitions/${encodeURIComponent(partition)}/append-batches`, body)
  }

  async appendLayout (name, partition, body) {
    return await this.#call('POST', `/v1/topics/${encodeURIComponent(name)}/partitions/${encodeURIComponent(partition)}/layout`, body)
  }

  async deleteRecords (name, partition, body) {
    return await this.#call('POST', `/v1/topics/${encodeURIComponent(name)}/partitions/${encodeURIComponent(partition)}/delete-records`, body)
  }

  async truncateLog (name, partition, body) {
    return await this.#call('POST', `/v1/topics/${encodeURIComponent(name)}/partitions/${encodeURIComponent(partition)}/truncate`, body)
  }

  async holdHighWatermark (name, partition, body) {
    return await this.#call('POST', `/v1/topics/${encodeURIComponent(name)}/partitions/${encodeURIComponent(partition)}/hold-high-watermark`, body)
  }

  async releaseHighWatermark (name, partition) {
    return await this.#call('POST', `/v1/topics/${encodeURIComponent(name)}/partitions/${encodeURIComponent(partition)}/hold-high-watermark/release`)
  }

  async moveLeader (name, partition, body) {
    return await this.#call('POST', `/v1/topics/${encodeURIComponent(name)}/partitions/${encodeURIComponent(partition)}/move-leader`, body)
  }

  async newLeaderEpoch (name, partition) {
    return await this.#call('POST', `/v1/topics/${encodeURIComponent(name)}/partitions/${encodeURIComponent(partition)}/new-leader-epoch`)
  }

  async takeOffline (name, partition, body) {
    return await this.#call('POST', `/v1/topics/${encodeURIComponent(name)}/partitions/${encodeURIComponent(partition)}/take-offline`, body)
  }

  async releaseOfflineReplicas (name, partition, body) {
    return await this.#call('POST', `/v1/topics/${encodeURIComponent(name)}/partitions/${encodeURIComponent(partition)}/take-offline/release`, body)
  }

  async shrinkIsr (name, partition, body) {
    return await this.#call('POST', `/v1/topics/${encodeURIComponent(name)}/partitions/${encodeURIComponent(partition)}/shrink-isr`, body)
  }

  async releaseIsr (name, partition) {
    return await this.#call('POST', `/v1/topics/${encodeURIComponent(name)}/partitions/${encodeURIComponent(partition)}/shrink-isr/release`)
  }

  async listBrokers () {
    return await this.#call('GET', '/v1/brokers')
  }

  async getBroker (nodeId) {
    return await this.#call('GET', `/v1/brokers/${encodeURIComponent(nodeId)}`)
  }

  async stopBroker (nodeId) {
    return await this.#call('POST', `/v1/brokers/${encodeURIComponent(nodeId)}/stop`)
  }

  async startBroker (nodeId) {
    return await this.#call('POST', `/v1/brokers/${encodeURIComponent(nodeId)}/start`)
  }

  async pauseBroker (nodeId) {
    return await this.#call('POST', `/v1/brokers/${encodeURIComponent(nodeId)}/pause`)
  }

  async resumeBroker (nodeId) {
    return await this.#call('POST', `/v1/brokers/${encodeURIComponent(nodeId)}/resume`)
  }

  async cutOffBroker (nodeId, body) {
    return await this.#call('POST', `/v1/brokers/${encodeURIComponent(nodeId)}/cut-off`, body)
  }

  async reconnectBroker (nodeId) {
    return await this.#call('POST', `/v1/brokers/${encodeURIComponent(nodeId)}/reconnect`)
  }

  async holdReplication (nodeId, body) {
    return await this.#call('POST', `/v1/brokers/${encodeURIComponent(nodeId)}/hold-replication`, body)
  }

  async releaseReplication (nodeId, body) {
    return await this.#call('POST', `/v1/brokers/${encodeURIComponent(nodeId)}/hold-replication/release`, body)
  }

  async refuseConnections (nodeId) {
    return await this.#call('POST', `/v1/brokers/${encodeURIComponent(nodeId)}/refuse-connections`)
  }

  async releaseConnections (nodeId) {
    return await this.#call('POST', `/v1/brokers/${encodeURIComponent(nodeId)}/refuse-connections/release`)
  }

  async failLogDir (nodeId, body) {
    return await this.#call('POST', `/v1/brokers/${encodeURIComponent(nodeId)}/fail-log-dir`, body)
  }

  async releaseLogDir (nodeId, body) {
    return await this.#call('POST', `/v1/brokers/${encodeURIComponent(nodeId)}/fail-log-dir/release`, body)
  }

  async stopController () {
    return await this.#call('POST', '/v1/controller/stop')
  }

  async startController () {
    return await this.#call('POST', '/v1/controller/start')
  }

  async rollBrokers (body) {
    return await this.#call('POST', '/v1/roll', body)
  }

  async listAcls () {
    return await this.#call('GET', '/v1/acls')
  }

  async addAcls (body) {
    return await this.#call('POST', '/v1/acls', body)
  }

  async removeAcl (parameters) {
    return await this.#call('DELETE', `/v1/acls${query(parameters)}`)
  }

  async listUsers () {
    return await this.#call('GET', '/v1/users')
  }

  async addUser (body) {
    return await this.#call('POST', '/v1/users', body)
  }

  async removeUser (name) {
    return await this.#call('DELETE', `/v1/users/${encodeURIComponent(name)}`)
  }

  async getClientConfig (parameters = {}) {
    return await this.#call('GET', `/v1/client-config${query(parameters)}`)
  }

  async reset () {
    return await this.#call('POST', '/v1/reset')
  }

  async takeSnapshot () {
    return await this.#call('GET', '/v1/snapshot')
  }

  async restore (file) {
    return await this.#call('POST', '/v1/restore', file)
  }
}

function query (parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null)
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}
