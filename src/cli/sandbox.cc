#include "cli/sandbox.h"

#include <chrono>

#include "aliquot/cluster/http_front.h"
#include "aliquot/kube/client.h"
#include "aliquot/kube/events.h"
#include "aliquot/kube/parse.h"
#include "aliquot/kube/reflector.h"
#include "aliquot/scheduler/scheduler.h"
#include "aliquot/server/server.h"
#include "aliquot/vendors/registry.h"
#include "cli/scheduler_options.h"
#include "cli/vendor_configs.h"

namespace aliquot::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kSchedulerName = "hami-scheduler";
constexpr std::chrono::seconds kPatience{10};

config::ServeFlags Flags() {
  config::ServeFlags flags;
  flags.enable_ascend = flags.enable_iluvatar = true;  // whatever the device configuration has
  return flags;
}

kube::ClientConfig ConfigOf(const std::string& url) {
  kube::ClientConfig config;
  config.source = "sandbox";
  config.server = url;
  return config;
}

kube::ReflectorOptions Unfinished() {
  kube::ReflectorOptions options;
  options.selectors =
      "fieldSelector=" + kube::UrlEscape("status.phase!=Succeeded,status.phase!=Failed");
  return options;
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

struct Sandbox::Daemon {
  Daemon(cluster::Cluster& cluster, const core::Registry& registry) : front(cluster, {}) {
    if (started = front.Start(); !started) return;
    // Nobody else waits for this API server: no limit on calls.
    client = std::make_unique<kube::Client>(ConfigOf(front.url()), kube::ClientOptions{.qps = -1});
    events = std::make_unique<kube::EventRecorder>(*client, kSchedulerName);
    scheduler = std::make_unique<scheduler::Scheduler>(
        *client, registry, SchedulerOptions(Flags(), nullptr), SystemClock(),
        [this](const ObjectRef& pod, bool warning, std::string_view reason, std::string message) {
          events->Record(pod, warning ? kube::EventType::kWarning : kube::EventType::kNormal,
                         std::string(reason), std::move(message));
        },
        nullptr);
    nodes = std::make_unique<kube::Reflector<kube::Node>>(
        *client, scheduler->nodes(), scheduler->node_events(), kube::ReflectorOptions());
    quotas = std::make_unique<kube::Reflector<kube::ResourceQuota>>(
        *client, scheduler->quotas(), scheduler->quota_events(), kube::ReflectorOptions());
    pods = std::make_unique<kube::Reflector<kube::Pod>>(*client, scheduler->pods(),
                                                        scheduler->pod_events(), Unfinished());
    server::Server::Options options;
    options.bind = "127.0.0.1:0";
    server = std::make_unique<server::Server>(*scheduler, std::move(options));
    if (started = server->Start(); !started) return;
    scheduler->Start();
    nodes->Start();
    quotas->Start();
    pods->Start();
    if (!scheduler->sync().Wait(std::chrono::steady_clock::now() + kPatience, nullptr))
      started = Error{ErrorCode::kDeadline, "the scheduler is " + scheduler->sync().Missing()};
  }

  ~Daemon() {
    if (!server) return;
    scheduler->Drain();
    server->Stop(kPatience);
    client->Shutdown();
    scheduler->Stop();
    pods->Stop();
    quotas->Stop();
    nodes->Stop();
    events.reset();
  }

  Result<void> started;
  cluster::HttpFront front;
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<kube::EventRecorder> events;
  std::unique_ptr<scheduler::Scheduler> scheduler;
  std::unique_ptr<kube::Reflector<kube::Node>> nodes;
  std::unique_ptr<kube::Reflector<kube::ResourceQuota>> quotas;
  std::unique_ptr<kube::Reflector<kube::Pod>> pods;
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
  daemon_ = std::make_unique<Daemon>(cluster_, registry_);
  return daemon_->started;
}

const ledger::Ledger& Sandbox::ledger() const { return daemon_->scheduler->ledger(); }
std::string Sandbox::api_url() const { return daemon_->front.url(); }
int Sandbox::extender_port() const { return daemon_->server->port(); }

}  // namespace aliquot::cli
