#include "aliquot/scheduler/shadow.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "aliquot/base/log.h"
#include "aliquot/base/strings.h"
#include "aliquot/core/request.h"
#include "aliquot/scheduler/assignment.h"
#include "scheduler/describe.h"
#include "scheduler/keys.h"
#include "scheduler/shadow_verdict.h"

namespace aliquot::scheduler {
namespace {

// Empty: the pod is not placed.
std::string NodeOf(const kube::Pod& pod) {
  if (!pod.node_name.empty()) return pod.node_name;
  const std::string* node = Find(pod.meta.annotations, kAssignedNodeKey);
  return node == nullptr ? "" : *node;
}

// The pod was placed, or placed anew, between the two: the time tells that also where the
// choice is the same. A binding may bring a time of its own.
bool IsPlacedAnew(const kube::Pod& old, const kube::Pod& now, const core::Registry& registry) {
  const auto differs = [&](std::string_view key) {
    const std::string* before = Find(old.meta.annotations, key);
    const std::string* after = Find(now.meta.annotations, key);
    return before != nullptr && after != nullptr ? *before != *after : before != after;
  };
  return differs(kAssignedNodeKey) || (now.node_name.empty() && differs(kAssignedTimeKey)) ||
         std::ranges::any_of(registry.vendors(), [&](const core::Vendor& vendor) {
           return differs(vendor.spec().allocated);
         });
}

// On the ledger without the pod: what it was promised is dropped, and nothing stays of this.
OurDecision Decide(const kube::Pod& pod, const core::PolicyDefaults& defaults,
                   const core::Registry& registry, ledger::Ledger& ledger) {
  OurDecision ours;
  const ObjectRef ref = pod.meta.Ref();
  const auto parsed = core::ParseRequests(SpecOf(pod, ref), registry);
  const auto* request = std::get_if<core::PodRequest>(&parsed);
  const Result<core::SchedulePolicy> policy = core::ResolvePolicy(pod.meta.annotations, defaults);
  if (request == nullptr)
    ours.objection = std::get<core::InvalidRequest>(parsed).ToString();
  else if (request->empty())
    ours.objection = "it asks for no device";
  else if (!policy)
    ours.objection = policy.error().message;
  if (!ours.objection.empty()) return ours;
  ours.nodes = ledger.NodeNames();
  const std::vector<std::string_view> names(ours.nodes.begin(), ours.nodes.end());
  ours.decision = ledger.Schedule(*request, names, *policy).decision;
  return ours;
}

// What is in use of the cards that were given, by pods that were there before.
std::string RoomOf(const ledger::Holding& holding, const ledger::Ledger& ledger) {
  const std::optional<core::NodeUsage> node = ledger.Node(holding.node);
  if (!node) return "node " + holding.node + " is not registered";
  std::vector<std::string> cards;
  ledger::ForEachShare(
      holding.allocation, [&](core::VendorId vendor, size_t, const core::Share& share) {
        const int position = node->FindDevice(vendor, share.device_id);
        if (position < 0) return cards.push_back(share.device_id + " is not there");
        const core::Device& card = node->devices()[static_cast<size_t>(position)];
        const core::DeviceUse& use = node->use()[static_cast<size_t>(position)];
        const auto part = [](int64_t used, int64_t of) {
          return std::to_string(used) + "/" + std::to_string(of);
        };
        cards.push_back(share.device_id + " had in use: slots " + part(use.slots, card.slots) +
                        ", memory " + part(use.memory, card.memory) + ", cores " +
                        part(use.cores, card.cores));
      });
  return Join(cards, "; ");
}

}  // namespace

std::string_view Word(ShadowOutcome outcome) {
  constexpr std::string_view kWords[] = {"agree",   "tie",           "cards",     "node",
                                         "refused", "overcommitted", "unreadable"};
  return kWords[static_cast<size_t>(outcome)];
}

void Shadow::OnUpsert(const std::shared_ptr<const kube::Pod>& old,
                      const std::shared_ptr<const kube::Pod>& now) {
  if (!now->terminal() && (old == nullptr || old->node_name.empty())) {
    std::string node = NodeOf(*now);
    if (node.empty())
      ledger_.Forget(now->meta.uid);
    else if (old == nullptr || IsPlacedAnew(*old, *now, registry_))
      OnPlaced(*now, std::move(node));
  }
  next_.OnUpsert(old, now);
}

// Those that were placed before the caches were complete are not judged: which pods were
// there before them is not known.
void Shadow::OnPlaced(const kube::Pod& pod, std::string node) {
  const WrittenHolding written = HoldingOf(pod, std::move(node), registry_);
  if (written.holding.empty()) return;
  std::optional<OurDecision> ours;
  if (sync_.synced()) ours = Decide(pod, policy_, registry_, ledger_);

  TheirPlacement theirs{written.holding.node, written.holding.allocation,
                        Join(written.problems, "; ")};
  ledger::Reservation charged = ledger_.Adopt(written.holding);
  if (!charged.armed()) theirs.no_room = RoomOf(written.holding, ledger_);
  charged.Commit();
  if (!ours) return;
  Tell({.at = clock_.Now(),
        .pod = pod.meta.Ref(),
        .verdict = Compare(theirs, *ours),
        .shares = ours->decision.fits() ? Describe(ours->decision.allocation, registry_) : "",
        .their_node = theirs.node,
        .their_shares = Describe(theirs.allocation, registry_)});
}

void Shadow::Tell(ShadowDifference difference) {
  const ShadowVerdict& verdict = difference.verdict;
  counts_[static_cast<size_t>(verdict.outcome)].Add();
  if (verdict.outcome == ShadowOutcome::kAgree || verdict.outcome == ShadowOutcome::kTie) return;
  log::Info("Would have placed a pod otherwise", {{"pod", Display(difference.pod)},
                                                  {"outcome", Word(verdict.outcome)},
                                                  {"reason", verdict.reason},
                                                  {"theirNode", difference.their_node},
                                                  {"theirShares", difference.their_shares},
                                                  {"ourNode", verdict.node},
                                                  {"ourShares", difference.shares}});
  MutexLock lock(mutex_);
  if (differences_.size() == kKept) differences_.pop_front();
  differences_.push_back(std::move(difference));
}

std::vector<ShadowDifference> Shadow::differences() const {
  MutexLock lock(mutex_);
  return {differences_.begin(), differences_.end()};
}

void Shadow::WriteMetrics(MetricsText& text) const {
  text.Begin("aliquot_shadow_decisions_total", MetricsText::Type::kCounter,
             "With --shadow: pods that another scheduler has placed, by what we think of it.");
  for (size_t i = 0; i < counts_.size(); ++i)
    text.Sample({Label("outcome", Word(static_cast<ShadowOutcome>(i)))},
                static_cast<double>(counts_[i].value()));
}

}  // namespace aliquot::scheduler
