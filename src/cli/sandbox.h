// Sandbox: a whole small cluster in this process. An API server in memory with
// an HTTP front, and the daemon against it as `aliquot serve` has it: client,
// reflectors, scheduler, listener. Everything listens on free ports of loopback.
//
// Thread safety: by the owner; api() from any thread.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "aliquot/base/result.h"
#include "aliquot/cluster/cluster.h"
#include "aliquot/cluster/local_client.h"
#include "aliquot/config/device_config.h"
#include "aliquot/core/vendor.h"
#include "aliquot/kube/types.h"
#include "aliquot/ledger/ledger.h"

namespace aliquot::cli {

class Sandbox {
 public:
  explicit Sandbox(const config::DeviceConfig& devices);
  ~Sandbox();

  // From manifests; a pod's namespace is created with it. A pod that names its
  // node runs there, unless its status says another phase. Errors are the API
  // server's.
  Result<void> CreateNode(const nlohmann::json& manifest);
  Result<kube::Pod> CreatePod(const nlohmann::json& manifest);

  // What the API server has now, by (namespace and) name.
  std::vector<kube::Node> Nodes();
  std::vector<kube::Pod> Pods();

  // Returns when the daemon has seen everything that was created so far. Only once.
  Result<void> Start();

  // The way to the API server that needs no socket, for what others do in a cluster.
  cluster::LocalClient& api() { return api_; }
  cluster::Cluster& cluster() { return cluster_; }
  const core::Registry& registry() const { return registry_; }

  // REQUIRES, from here on: Start succeeded.
  const ledger::Ledger& ledger() const;
  std::string api_url() const;
  int extender_port() const;

 private:
  struct Running;

  cluster::Cluster cluster_;
  cluster::LocalClient api_;
  const core::Registry registry_;
  std::unique_ptr<Running> running_;
};

}  // namespace aliquot::cli
