// LocalClient: a Cluster as kube::Api, kube::RawApi and kube::ListWatcher, without sockets.
// Answers and errors are those that kube::Client would give against the same
// cluster over HTTP, but for its retries: nothing is repeated here.
//
// Thread safety: any method from any thread.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include "aliquot/cluster/cluster.h"
#include "aliquot/kube/api.h"
#include "aliquot/kube/list_watcher.h"

namespace aliquot::cluster {

class LocalClient : public kube::Api, public kube::RawApi, public kube::ListWatcher {
 public:
  // `cluster` outlives the client.
  explicit LocalClient(Cluster& cluster) : cluster_(cluster) {}

  Result<kube::Pod> GetPod(std::string_view ns, std::string_view name,
                           const kube::CallOptions& call) override;
  Result<kube::Node> GetNode(std::string_view name, const kube::CallOptions& call) override;
  Result<kube::Pod> PatchPod(const ObjectRef& ref, const std::string& merge_patch,
                             const kube::CallOptions& call) override;
  Result<kube::Node> PatchNode(std::string_view name, const std::string& merge_patch,
                               const kube::CallOptions& call) override;
  Result<void> Bind(const kube::Binding& binding, const kube::CallOptions& call) override;
  Result<std::string> CreateEvent(std::string_view ns, const std::string& event,
                                  const kube::CallOptions& call) override;
  Result<void> PatchEvent(std::string_view ns, std::string_view name, const std::string& patch,
                          const kube::CallOptions& call) override;

  Result<std::string> List(const std::string& target, const std::stop_token& stop) override;
  Result<void> Watch(const std::string& target, Duration longest,
                     const std::function<bool(std::string_view line)>& on_line,
                     const std::stop_token& stop) override;

  // The content type of a PATCH is that of a merge patch unless given.
  Result<std::string> Call(const std::string& method, const std::string& target,
                           const std::string& body = "", const std::string& content_type = "",
                           const kube::CallOptions& call = {}) override;

  // Every call, running or new, answers kCancelled.
  void Shutdown() { stop_.request_stop(); }

 private:
  Result<std::string> Send(Request request, const std::stop_token& stop, SteadyTime deadline);

  Cluster& cluster_;
  std::stop_source stop_;
};

}  // namespace aliquot::cluster
