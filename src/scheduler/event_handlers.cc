#include "aliquot/scheduler/event_handlers.h"

#include "aliquot/base/log.h"
#include "aliquot/scheduler/assignment.h"
#include "scheduler/keys.h"

namespace aliquot::scheduler {

void NodeEvents::OnUpsert(const std::shared_ptr<const kube::Node>& old,
                          const std::shared_ptr<const kube::Node>& now) {
  registrar_.OnNode(old.get(), *now);
  locks_.OnNode(*now);
}

void NodeEvents::OnDelete(const std::shared_ptr<const kube::Node>& last) {
  registrar_.OnNodeGone(last->meta.name);
}

void PodEvents::OnUpsert(const std::shared_ptr<const kube::Pod>& old,
                         const std::shared_ptr<const kube::Pod>& now) {
  if (now->terminal()) {
    ledger_.Remove(now->meta.uid);
    filter_.ForgetPod(now->meta.uid);
  } else if (!now->node_name.empty()) {
    const bool same = old != nullptr && old->node_name == now->node_name &&
                      old->meta.annotations == now->meta.annotations &&
                      old->init_statuses == now->init_statuses;
    if (!same) Observe(*now);
  }
  locks_.OnPod(*now);
}

void PodEvents::OnDelete(const std::shared_ptr<const kube::Pod>& last) {
  ledger_.Remove(last->meta.uid);
  filter_.ForgetPod(last->meta.uid);
  locks_.OnPod(*last);
}

// A pod may be created, placed by us, and gone between two lists: nothing else tells us of its
// end then. Whoever had something before the list was asked for was there, and would be in it.
void PodEvents::OnListed(SteadyTime asked) {
  constexpr size_t kAtOnce = 64;  // copied while the ledger is held
  std::string last;
  for (bool more = true; more;) {
    const std::vector<ledger::Ledger::Held> pods = ledger_.PodsAfter(last, kAtOnce);
    for (const ledger::Ledger::Held& held : pods) {
      if (held.since >= asked) continue;
      const auto cached = pods_.Get(held.pod.ns, held.pod.name);
      if (cached != nullptr && cached->meta.uid == held.pod.uid) continue;
      ledger_.Remove(held.pod.uid);
      filter_.ForgetPod(held.pod.uid);
    }
    more = pods.size() == kAtOnce;
    if (more) last = pods.back().pod.uid;
  }
}

void PodEvents::Observe(const kube::Pod& pod) {
  WrittenHolding written = HoldingOf(pod, pod.node_name, registry_);
  filter_.ForgetPod(pod.meta.uid);
  if (written.holding.empty()) {
    ledger_.Forget(pod.meta.uid);  // bound by somebody else, without what we promised it
    return;
  }
  const std::string* assigned = Find(pod.meta.annotations, kAssignedNodeKey);
  if (assigned != nullptr && *assigned != pod.node_name)
    log::Warn(
        "Counted pod where it runs, not where its annotation says",
        {{"pod", Display(pod.meta.Ref())}, {"node", pod.node_name}, {"annotation", *assigned}});
  for (const std::string_view key : written.by_position)
    log::Warn("Took shares by position: the text does not match the pod's containers",
              {{"pod", Display(pod.meta.Ref())},
               {"key", key},
               {"value", *Find(pod.meta.annotations, key)}});
  for (const std::string& problem : written.problems) {
    log::Warn("Closed a node to further pods of a vendor: an allocation cannot be read",
              {{"pod", Display(pod.meta.Ref())}, {"node", pod.node_name}, {"error", problem}});
    record_(pod.meta.Ref(), true, "AllocationUnreadable",
            "node " + pod.node_name + " takes no further pods of this vendor: " + problem);
  }
  ledger_.Observe(std::move(written.holding));
}

void QuotaEvents::OnUpsert(const std::shared_ptr<const kube::ResourceQuota>&,
                           const std::shared_ptr<const kube::ResourceQuota>& now) {
  const kube::ObjectMeta& meta = now->meta;
  if (!now->scoped) {
    ledger_.SetQuota(meta.ns, meta.name, now->hard);
    return;
  }
  ledger_.RemoveQuota(meta.ns, meta.name);
  if (passed_over_.insert(meta.ns + "/" + meta.name).second)
    log::Warn("Passed over a ResourceQuota with scopes",
              {{"namespace", meta.ns}, {"quota", meta.name}});
}

void QuotaEvents::OnDelete(const std::shared_ptr<const kube::ResourceQuota>& last) {
  ledger_.RemoveQuota(last->meta.ns, last->meta.name);
  passed_over_.erase(last->meta.ns + "/" + last->meta.name);
}

}  // namespace aliquot::scheduler
