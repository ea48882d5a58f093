#include "cli/device_plugins.h"

#include "aliquot/base/log.h"
#include "aliquot/base/time_text.h"
#include "aliquot/codec/node_lock.h"
#include "aliquot/kube/parse.h"

namespace aliquot::cli {
namespace {

constexpr const char* kBindPhase = "hami.io/bind-phase";
constexpr const char* kNodeLock = "hami.io/mutex.lock";
// Holds no pod's name: whoever is served next gives it back.
constexpr const char* kCambriconLock = "cambricon.com/dsmlu.lock";

void Tell(const char* what, const std::string& object, const Error& error) {
  log::Warn(what, {{"object", object}, {"error", error.message}});
}

}  // namespace

DevicePlugins::DevicePlugins(Sandbox& sandbox)
    : sandbox_(sandbox), thread_([this](const std::stop_token& stop) { Run(stop); }) {}

void DevicePlugins::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const Result<void> watched = sandbox_.api().Watch(
        "/api/v1/pods?watch=true&timeoutSeconds=30", Duration::max(),
        [this](std::string_view line) {
          const Result<kube::WatchEvent> event = kube::ParseWatchEvent(line);
          if (!event || event->type == kube::WatchEvent::Type::kDeleted) return true;
          if (const Result<kube::Pod> pod = kube::ParsePod(event->object)) Serve(*pod);
          return true;
        },
        stop);
    if (!watched && watched.error().code == ErrorCode::kCancelled) return;
    Report();
  }
}

void DevicePlugins::Serve(const kube::Pod& pod) {
  const std::string* phase = Find(pod.meta.annotations, kBindPhase);
  if (pod.node_name.empty() || phase == nullptr || *phase != "allocating") return;
  kube::MetadataPatch success;
  success.uid = pod.meta.uid;
  success.annotations[kBindPhase] = "success";
  const ObjectRef ref = pod.meta.Ref();
  if (const auto patched = sandbox_.api().PatchPod(ref, success.ToJson(), {}); !patched)
    return Tell("Could not write the bind phase", Display(ref), patched.error());
  const std::string status = "/api/v1/namespaces/" + ref.ns + "/pods/" + ref.name + "/status";
  if (const auto ran = sandbox_.api().Call("PATCH", status, R"({"status":{"phase":"Running"}})");
      !ran)
    return Tell("Could not write the phase", Display(ref), ran.error());

  const Result<kube::Node> node = sandbox_.api().GetNode(pod.node_name, {});
  if (!node) return Tell("Could not read the node", pod.node_name, node.error());
  kube::MetadataPatch release;
  const std::string* lock = Find(node->meta.annotations, kNodeLock);
  if (lock != nullptr && codec::NodeLockBelongsTo(*lock, ref.ns, ref.name))
    release.annotations[kNodeLock] = std::nullopt;
  if (node->meta.annotations.contains(kCambriconLock))
    release.annotations[kCambriconLock] = std::nullopt;
  if (release.annotations.empty()) return;
  if (const auto patched = sandbox_.api().PatchNode(pod.node_name, release.ToJson(), {}); !patched)
    Tell("Could not give the node lock back", pod.node_name, patched.error());
}

void DevicePlugins::Report() {
  for (const kube::Node& node : sandbox_.Nodes()) {
    kube::MetadataPatch report;
    for (const core::Vendor& vendor : sandbox_.registry().vendors()) {
      const std::string_view key = vendor.spec().node_handshake;
      if (Find(node.meta.annotations, key) != nullptr)
        report.annotations[std::string(key)] =
            "Reported_" + FormatHandshakeTime(SystemClock().Now());
    }
    if (report.annotations.empty()) continue;
    if (const auto patched = sandbox_.api().PatchNode(node.meta.name, report.ToJson(), {});
        !patched)
      Tell("Could not report", node.meta.name, patched.error());
  }
}

}  // namespace aliquot::cli
