#include "cli/sandbox.h"

#include <chrono>

#include "aliquot/cluster/http_front.h"
#include "aliquot/kube/client.h"
#include "aliquot/kube/http.h"
#include "aliquot/kube/parse.h"
#include "aliquot/server/server.h"
#include "aliquot/vendors/registry.h"
#include "cli/daemon.h"
#include "cli/vendor_configs.h"

namespace aliquot::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kSchedulerName = "hami-scheduler";
constexpr std::chrono::seconds kPatience{10};

config::ServeFlags Flags() {
  config::ServeFlags flags;
  flags.scheduler_name = kSchedulerName;
  flags.enable_ascend = flags.enable_iluvatar = true;  // whatever the device configuration has
  return flags;
}

kube::ClientConfig ConfigOf(const std::string& url) {
  kube::ClientConfig config;
  config.source = "sandbox";
  config.server = url;
  return config;
}

template <typename T>
std::vector<T> ListAll(cluster::LocalClient& api, const char* target,
                       Result<T> (*parse)(std::string_view)) {
  std::vector<T> objects;
  const Result<std::string> body = api.Call("GET", target);
  if (!body) return objects;
  const Result<kube::ListPage> page = kube::ParseListPage(*body);
  if (!page) return objects;
  for (const std::string_view item : page->items)
    if (Result<T> object = parse(item)) objects.push_back(*std::move(object));
  return objects;
}

}  // namespace

struct Sandbox::Running {
  Running(cluster::Cluster& cluster, const core::Registry& registry) : front(cluster, {}) {
    if (started = front.Start(); !started) return;
    // Nobody else waits for this API server: no limit on calls.
    client = std::make_unique<kube::Client>(ConfigOf(front.url()), kube::ClientOptions{.qps = -1});
    daemon = std::make_unique<Daemon>(ApiServer{*client, *client}, registry, Flags(), nullptr,
                                      SystemClock());
    server::Server::Options options;
    options.bind = "127.0.0.1:0";
    server = std::make_unique<server::Server>(daemon->scheduler(), std::move(options));
    if (started = server->Start(); !started) return;
    daemon->Start();
    const scheduler::SyncState& sync = daemon->scheduler().sync();
    if (!sync.Wait(std::chrono::steady_clock::now() + kPatience, nullptr))
      started = Error{ErrorCode::kDeadline, "the scheduler is " + sync.Missing()};
  }

  ~Running() {
    if (!server) return;
    daemon->Drain();
    server->Stop(kPatience);
    client->Shutdown();
    daemon->Stop();
  }

  Result<void> started;
  cluster::HttpFront front;
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<Daemon> daemon;
  std::unique_ptr<server::Server> server;
};

Sandbox::Sandbox(const config::DeviceConfig& devices)
    : cluster_({}),
      api_(cluster_),
      registry_(vendors::MakeRegistry(VendorConfigs(Flags(), devices))) {}

Sandbox::~Sandbox() = default;

Result<void> Sandbox::CreateNode(const Json& manifest) {
  const Result<std::string> created = api_.Call("POST", "/api/v1/nodes", manifest.dump());
  if (!created) return created.error();
  return {};
}

Result<kube::Pod> Sandbox::CreatePod(const Json& manifest) {
  const Json& meta = manifest["metadata"];
  const std::string ns = meta.contains("namespace") && meta["namespace"].is_string()
                             ? meta["namespace"].get<std::string>()
                             : "default";
  const Json space = {{"metadata", {{"name", ns}}}};
  const Result<std::string> made = api_.Call("POST", "/api/v1/namespaces", space.dump());
  if (!made && made.error().code != ErrorCode::kConflict) return made.error();

  const std::string path = "/api/v1/namespaces/" + kube::UrlEscape(ns) + "/pods";
  const Result<std::string> created = api_.Call("POST", path, manifest.dump());
  if (!created) return created.error();
  Result<kube::Pod> pod = kube::ParsePod(*created);
  if (!pod) return pod;
  // The API server lets nobody say at once how far a pod is.
  Json status = manifest.contains("status") ? manifest["status"] : Json::object();
  if (!status.is_object()) return InvalidError("status: not an object");
  if (!pod->node_name.empty()) status.emplace("phase", "Running");
  if (status.empty()) return pod;
  const Result<std::string> patched =
      api_.Call("PATCH", path + "/" + kube::UrlEscape(pod->meta.name) + "/status",
                Json{{"status", status}}.dump());
  if (!patched) return patched.error();
  return kube::ParsePod(*patched);
}

std::vector<kube::Node> Sandbox::Nodes() {
  return ListAll<kube::Node>(api_, "/api/v1/nodes", kube::ParseNode);
}

std::vector<kube::Pod> Sandbox::Pods() {
  return ListAll<kube::Pod>(api_, "/api/v1/pods", kube::ParsePod);
}

Result<void> Sandbox::Start() {
  running_ = std::make_unique<Running>(cluster_, registry_);
  return running_->started;
}

const ledger::Ledger& Sandbox::ledger() const { return running_->daemon->scheduler().ledger(); }
std::string Sandbox::api_url() const { return running_->front.url(); }
int Sandbox::extender_port() const { return running_->server->port(); }

}  // namespace aliquot::cli
