#include "decisions.h"

#include <variant>

#include "aliquot/base/check.h"
#include "aliquot/base/clock.h"
#include "aliquot/config/device_config.h"
#include "aliquot/config/flags.h"
#include "aliquot/kube/parse.h"
#include "aliquot/scheduler/assignment.h"
#include "aliquot/vendors/registry.h"
#include "cli/vendor_configs.h"
#include "manifests.h"
#include "scheduler/node_reader.h"
#include "support/builders.h"

namespace aliquot::bench {
namespace {

constexpr size_t kPods = 100;  // that take turns

load::Limits LimitsOf(Stream stream) {
  if (stream == Stream::kRefused) return FitsNowhere();
  load::Limits limits = FitsEverywhere();
  // No amount comes back while the ledger may remember it.
  static size_t mixed = 0;
  if (stream == Stream::kMixed) limits["nvidia.com/gpumem"] = std::to_string(1000 + mixed++ % 2000);
  return limits;
}

core::PodRequest RequestOf(const std::string& json) {
  const Result<kube::Pod> pod = kube::ParsePod(json);
  ALIQUOT_CHECK(pod.ok());
  const ObjectRef ref = pod->meta.Ref();
  return std::get<core::PodRequest>(core::ParseRequests(scheduler::SpecOf(*pod, ref), Vendors()));
}

}  // namespace

const core::Registry& Vendors(bool nvidia_alone) {
  static const core::Registry registry = [&] {
    if (nvidia_alone) return testing::ChartRegistry();
    const auto devices = config::LoadDeviceConfig(DEVICE_CONFIG);
    ALIQUOT_CHECK(devices.ok());
    return vendors::MakeRegistry(cli::VendorConfigs({}, *devices));
  }();
  return registry;
}

FilledLedger::FilledLedger(size_t nodes, size_t running_per_node)
    : ledger_(Vendors(), SystemClock()), names_(load::NodeNames(nodes)) {
  views_.assign(names_.begin(), names_.end());
  for (size_t node = 0; node < nodes; ++node) {
    const Result<kube::Node> parsed = kube::ParseNode(NodeManifest(node));
    ALIQUOT_CHECK(parsed.ok());
    ledger_.SetNode(scheduler::ReadNode(*parsed, Vendors()).inventory);
    for (size_t i = 0; i < running_per_node; ++i) {
      const Result<kube::Pod> pod = kube::ParsePod(RunningPodManifest(node, i));
      ALIQUOT_CHECK(pod.ok());
      ledger_.Observe(scheduler::HoldingOf(*pod, names_[node], Vendors()).holding);
    }
  }
  ALIQUOT_CHECK(ledger_.Count().nodes == nodes);
  ALIQUOT_CHECK(ledger_.Count().bound == nodes * running_per_node);
}

Decisions::Decisions(FilledLedger& cluster, Stream stream, bool spread_nodes) : cluster_(cluster) {
  policy_.spread_nodes = spread_nodes;
  for (size_t i = 0; i < kPods; ++i) pods_.push_back(RequestOf(load::PodJson(i, LimitsOf(stream))));
}

Decisions::~Decisions() {
  for (const core::PodRequest& pod : pods_) cluster_.ledger().Forget(pod.pod.uid);
}

bool Decisions::Next() {
  const core::PodRequest& pod = pods_[next_++ % pods_.size()];
  ledger::Ledger::Outcome outcome = cluster_.ledger().Schedule(pod, cluster_.names(), policy_);
  outcome.reservation.Commit();
  return outcome.decision.fits();
}

}  // namespace aliquot::bench
