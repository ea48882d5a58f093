#include "aliquot/ledger/ledger.h"

#include <algorithm>

#include "aliquot/base/check.h"
#include "aliquot/core/gates.h"

namespace aliquot::ledger {
namespace {

using core::Charge;
using core::DeviceUse;
using core::VendorId;

constexpr int64_t kWholeCard = 100;  // cores

// What a later sight of a bound pod may still change: that init is done, and the
// vendors that could not be read before.
void TakeOver(Holding& known, Holding& seen) {
  known.init_done = known.init_done || seen.init_done;
  std::erase_if(known.unreadable, [&](VendorId vendor) {
    if (std::ranges::count(seen.unreadable, vendor) > 0) return false;
    for (core::VendorAllocation& of_vendor : seen.allocation)
      if (of_vendor.vendor == vendor) known.allocation.push_back(std::move(of_vendor));
    return true;
  });
  std::ranges::sort(known.allocation, {}, &core::VendorAllocation::vendor);
}

// As if `charges` were not there.
void GiveBack(std::span<const Charge> charges, core::NodeUsage& usage) {
  for (const Charge& charge : charges) {
    const int device = usage.FindDevice(charge.vendor, charge.device_id);
    if (device < 0) continue;
    const DeviceUse& use = usage.use()[device];
    usage.SetUse(device, {use.slots - charge.use.slots, use.memory - charge.use.memory,
                          use.cores - charge.use.cores});
  }
}

// In a dimension that the vendor's gates watch over.
bool Overcommits(const core::Vendor& vendor, const core::Device& card, const DeviceUse& use) {
  const auto guards = [&](core::Gate gate) {
    return std::ranges::count(vendor.spec().gates, gate) > 0;
  };
  return (use.slots > card.slots && guards(core::gates::FreeSlot)) ||
         (use.memory > card.memory && guards(core::gates::FreeMemory)) ||
         (use.cores > card.cores && card.profiles.empty() && guards(core::gates::FreeCores));
}

// One of its containers, of those that are still to run, takes all cores of the card.
bool TakesWholeCard(const Holding& holding, VendorId vendor, std::string_view device_id) {
  for (const core::VendorAllocation& of_vendor : holding.allocation) {
    if (of_vendor.vendor != vendor) continue;
    for (size_t i = 0; i < of_vendor.containers.size(); ++i) {
      const bool over = holding.init_done && i < holding.kinds.size() &&
                        holding.kinds[i] == core::ContainerKind::kInit;
      if (!over && std::ranges::any_of(of_vendor.containers[i], [&](const core::Share& share) {
            return share.device_id == device_id && share.cores == kWholeCard;
          }))
        return true;
    }
  }
  return false;
}

// With an instance of another pod.
bool InstancesOverlap(const core::Tenant& own, std::span<const core::Tenant> tenants) {
  return std::ranges::any_of(tenants, [&](const core::Tenant& other) {
    return other.uid != own.uid && std::ranges::any_of(own.instances, [&](const core::Slices& a) {
             return std::ranges::any_of(other.instances,
                                        [&](const core::Slices& b) { return core::Overlap(a, b); });
           });
  });
}

}  // namespace

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this == &other) return *this;
  Forget();
  ledger_ = std::exchange(other.ledger_, nullptr);
  uid_ = std::move(other.uid_);
  generation_ = other.generation_;
  return *this;
}

void Reservation::Forget() {
  if (ledger_ != nullptr) std::exchange(ledger_, nullptr)->Forget(uid_, generation_);
}

// ---- nodes

void Ledger::SetNode(core::NodeInventory inventory) {
  if (inventory.devices.empty()) return RemoveNode(inventory.name);
  MutexLock lock(mutex_);
  const auto [node, slot] = nodes_.Get(inventory.name);
  if (!node.usage) ++registered_;
  node.usage.emplace(std::move(inventory));
  Project(node, "", *node.usage);
  UpdateCandidate(slot, node);
  Recharge(node);
}

void Ledger::RemoveNode(std::string_view node) {
  MutexLock lock(mutex_);
  if (!nodes_.SlotOf(node)) return;
  const auto [entry, slot] = nodes_.Get(node);
  if (entry.usage) --registered_;
  entry.usage.reset();
  UpdateCandidate(slot, entry);
  if (entry.pods.empty())
    nodes_.Erase(node);
  else
    Recharge(entry);
}

std::optional<core::NodeUsage> Ledger::Node(std::string_view node) const {
  MutexLock lock(mutex_);
  const NodeEntry* entry = nodes_.Find(node);
  return entry == nullptr ? std::nullopt : entry->usage;
}

std::vector<std::string> Ledger::NodeNames() const {
  constexpr size_t kAtOnce = 256;
  std::vector<std::string> names;
  for (size_t begin = 0;; begin += kAtOnce) {
    MutexLock lock(mutex_);
    if (begin >= nodes_.slots()) break;
    nodes_.ForEach(begin, begin + kAtOnce, [&](const std::string& name, const NodeEntry& node) {
      if (node.usage) names.push_back(name);
    });
  }
  std::ranges::sort(names);
  return names;
}

std::vector<Ledger::FailedCard> Ledger::FailedCards(std::string_view node) const {
  std::vector<FailedCard> failed;
  MutexLock lock(mutex_);
  const NodeEntry* entry = nodes_.Find(node);
  if (entry == nullptr) return failed;
  for (const PodEntry* pod : entry->pods)
    for (const Charge& charge : pod->charges) {
      const int device =
          entry->usage ? entry->usage->FindDevice(charge.vendor, charge.device_id) : -1;
      if (device < 0 || !entry->usage->devices()[static_cast<size_t>(device)].healthy)
        failed.push_back({pod->holding.pod, charge.vendor, charge.device_id, device < 0});
    }
  return failed;
}

void Ledger::Project(const NodeEntry& node, std::string_view except_uid,
                     core::NodeUsage& usage) const {
  for (const auto& [card, total] : node.held)
    if (const int device = usage.FindDevice(card.first, card.second); device >= 0)
      usage.SetUse(static_cast<size_t>(device), total.Use());
  for (const auto& [card, tenants] : node.tenants)
    ProjectTenants(node, card.first, card.second, except_uid, usage);
  for (const auto& [vendor, pods] : node.unreadable) usage.SetUnreadable(vendor, true);
}

void Ledger::UpdateCandidate(uint32_t slot, const NodeEntry& node) {
  if (slot >= candidates_.size()) candidates_.resize(slot + 1);
  candidates_[slot] = node.usage ? Candidate{&*node.usage, node.usage->stamp()} : Candidate{};
}

void Ledger::EraseIfUnused(std::string_view node, const NodeEntry& entry) {
  if (!entry.usage && entry.pods.empty()) nodes_.Erase(node);
}

// ---- pods

void Ledger::Observe(Holding holding) {
  MutexLock lock(mutex_);
  SteadyTime since = clock_.Steady();
  if (const auto it = pods_.find(holding.pod.uid); it != pods_.end()) {
    PodEntry& pod = it->second;
    if (pod.bound && pod.holding.node == holding.node) {
      const bool shrinks = holding.init_done && !pod.holding.init_done;
      if (!shrinks && pod.holding.unreadable.empty()) return;
      Apply(pod, Sign::kGiveBack);
      TakeOver(pod.holding, holding);
      pod.charges = ChargesOf(pod.holding);
      Apply(pod, Sign::kTake);
      if (pod.holding.empty()) Drop(it);
      return;
    }
    if (pod.bound) since = pod.since;
    Drop(it);
  }
  if (!holding.empty()) Add(std::move(holding), /*bound=*/true).since = since;
}

void Ledger::MarkBound(std::string_view uid) {
  MutexLock lock(mutex_);
  const auto it = pods_.find(uid);
  if (it == pods_.end() || it->second.bound) return;
  it->second.bound = true;
  ++bound_;
  it->second.since = clock_.Steady();
}

void Ledger::MarkBound(Holding written) {
  MutexLock lock(mutex_);
  const auto it = pods_.find(written.pod.uid);
  if (it == pods_.end() || it->second.bound) return;
  Drop(it);
  if (!written.empty()) Add(std::move(written), /*bound=*/true);
}

bool Ledger::Remove(std::string_view uid) {
  MutexLock lock(mutex_);
  const auto it = pods_.find(uid);
  if (it == pods_.end()) return false;
  Drop(it);
  return true;
}

bool Ledger::Forget(std::string_view uid) {
  MutexLock lock(mutex_);
  const auto it = pods_.find(uid);
  if (it == pods_.end() || it->second.bound) return false;
  Drop(it);
  return true;
}

void Ledger::Forget(std::string_view uid, uint64_t generation) {
  MutexLock lock(mutex_);
  const auto it = pods_.find(uid);
  if (it != pods_.end() && !it->second.bound && it->second.generation == generation) Drop(it);
}

std::optional<Ledger::Held> Ledger::Find(std::string_view uid) const {
  MutexLock lock(mutex_);
  const auto it = pods_.find(uid);
  if (it == pods_.end()) return std::nullopt;
  return ToHeld(it->second);
}

std::vector<Ledger::Held> Ledger::PodsAfter(std::string_view uid, size_t limit) const {
  std::vector<Held> pods;
  MutexLock lock(mutex_);
  for (auto it = pods_.upper_bound(uid); it != pods_.end() && pods.size() < limit; ++it)
    pods.push_back(ToHeld(it->second));
  return pods;
}

std::vector<Ledger::Held> Ledger::ExpireReservations(Duration age) {
  MutexLock lock(mutex_);
  const SteadyTime now = clock_.Steady();
  std::vector<Held> expired;
  for (auto it = pods_.begin(); it != pods_.end();) {
    const auto pod = it++;
    if (pod->second.bound || now - pod->second.since <= age) continue;
    expired.push_back(ToHeld(pod->second));
    Drop(pod);
  }
  return expired;
}

bool Ledger::StillFits(std::string_view uid) const {
  MutexLock lock(mutex_);
  const auto it = pods_.find(uid);
  return it != pods_.end() && CardsSuffice(it->second);
}

Ledger::Held Ledger::ToHeld(const PodEntry& pod) {
  const Holding& holding = pod.holding;
  return {holding.pod,       holding.node, holding.allocation, holding.kinds,
          holding.init_done, pod.bound,    pod.since};
}

Ledger::PodEntry& Ledger::Add(Holding holding, bool bound) {
  std::string uid = holding.pod.uid;
  PodEntry pod;
  pod.holding = std::move(holding);
  pod.since = clock_.Steady();
  pod.generation = ++generation_;
  pod.bound = bound;
  if (bound) ++bound_;
  pod.charges = ChargesOf(pod.holding);
  const auto [it, inserted] = pods_.emplace(std::move(uid), std::move(pod));
  ALIQUOT_CHECK(inserted);
  Apply(it->second, Sign::kTake);
  return it->second;
}

void Ledger::Drop(Pods::iterator pod) {
  Apply(pod->second, Sign::kGiveBack);
  if (pod->second.bound) --bound_;
  pods_.erase(pod);
}

void Ledger::Apply(PodEntry& pod, Sign sign) {
  quota_.Apply(pod.holding.pod.ns, pod.charges, sign);

  const auto [node, slot] = nodes_.Get(pod.holding.node);
  for (const Charge& charge : pod.charges) {
    const std::pair key(charge.vendor, std::string_view(charge.device_id));
    auto card = node.held.find(key);
    if (card == node.held.end()) card = node.held.emplace(key, Total{}).first;
    card->second.Apply(charge.use, sign);
    if (node.usage)
      if (const int device = node.usage->FindDevice(key.first, key.second); device >= 0)
        node.usage->SetUse(static_cast<size_t>(device), card->second.Use());
    if (card->second.zero()) node.held.erase(card);
  }
  ApplyTenants(pod, node, sign);
  for (const VendorId vendor : pod.holding.unreadable) {
    ALIQUOT_CHECK(vendor < registry_.size());
    int64_t& pods = node.unreadable[vendor];
    pods += static_cast<int>(sign);
    if (node.usage) node.usage->SetUnreadable(vendor, pods > 0);
    if (pods == 0) node.unreadable.erase(vendor);
  }
  if (sign == Sign::kTake)
    node.pods.push_back(&pod);
  else
    std::erase(node.pods, &pod);
  UpdateCandidate(slot, node);
  EraseIfUnused(pod.holding.node, node);
}

bool Ledger::CardsSuffice(const PodEntry& pod) const {
  const NodeEntry* node = nodes_.Find(pod.holding.node);
  if (node == nullptr || !node->usage) return false;
  const core::NodeUsage& usage = *node->usage;
  return std::ranges::all_of(pod.charges, [&](const Charge& charge) {
    const int device = usage.FindDevice(charge.vendor, charge.device_id);
    return device >= 0 &&
           !Overcommits(registry_[charge.vendor], usage.devices()[device], usage.use()[device]) &&
           !IntrudesOnWholeCard(pod, *node, charge, device) &&
           std::ranges::none_of(usage.tenants(static_cast<size_t>(device)),
                                [&](const core::Tenant& tenant) {
                                  return tenant.uid == pod.holding.pod.uid &&
                                         InstancesOverlap(tenant, usage.tenants(device));
                                });
  });
}

// Beside a pod that takes the whole card, or the other way round.
bool Ledger::IntrudesOnWholeCard(const PodEntry& pod, const NodeEntry& node, const Charge& charge,
                                 int device) const {
  const auto guards = [&](core::Gate gate) {
    return std::ranges::count(registry_[charge.vendor].spec().gates, gate) > 0;
  };
  const bool alone = node.usage->use()[device].slots == charge.use.slots;
  if (alone || node.usage->devices()[device].cores != kWholeCard ||
      !guards(core::gates::ExclusiveIsIdle) || !guards(core::gates::CoresNotExhausted))
    return false;
  const auto takes_whole = [&](const Holding& holding) {
    return TakesWholeCard(holding, charge.vendor, charge.device_id);
  };
  return takes_whole(pod.holding) || std::ranges::any_of(node.pods, [&](const PodEntry* other) {
           return other != &pod && takes_whole(other->holding);
         });
}

bool Ledger::QuotaSuffices(const PodEntry& pod) const {
  const std::vector<core::QuotaRoom> room = quota_.Room(pod.holding.pod.ns);
  return room.empty() || std::ranges::all_of(pod.charges, [&](const Charge& charge) {
           const core::QuotaRoom& left = room[charge.vendor];
           return left.memory.value_or(0) >= 0 && left.cores.value_or(0) >= 0;
         });
}

bool Ledger::IsClosedTo(const PodEntry& pod) const {
  const NodeEntry& node = *nodes_.Find(pod.holding.node);
  return std::ranges::any_of(
      pod.charges, [&](const Charge& charge) { return node.unreadable.contains(charge.vendor); });
}

// ---- quotas

void Ledger::SetQuota(std::string_view ns, std::string_view name, const StringMap& hard) {
  MutexLock lock(mutex_);
  quota_.SetLimits(ns, name, hard);
}

void Ledger::RemoveQuota(std::string_view ns, std::string_view name) {
  MutexLock lock(mutex_);
  quota_.RemoveLimits(ns, name);
}

std::vector<core::QuotaRoom> Ledger::QuotaRoom(std::string_view ns) const {
  MutexLock lock(mutex_);
  return quota_.Room(ns);
}

std::vector<QuotaRow> Ledger::Quotas() const {
  MutexLock lock(mutex_);
  return quota_.Rows();
}

// ---- decisions

Ledger::Outcome Ledger::Schedule(const core::PodRequest& pod,
                                 std::span<const std::string_view> nodes,
                                 const core::SchedulePolicy& policy) {
  // Kept between calls: a cluster's worth of candidates is not allocated again.
  static thread_local std::vector<core::CandidateNode> candidates;
  candidates.resize(nodes.size());

  Outcome outcome;
  MutexLock lock(mutex_);
  if (const auto it = pods_.find(pod.pod.uid); it != pods_.end()) {
    if (it->second.bound) {
      const auto refusal =
          core::Refusal::Text("pod is bound to node " + it->second.holding.node, true);
      outcome.decision.refusals.push_back(refusal);
      for (uint32_t i = 0; i < nodes.size(); ++i) outcome.decision.refused.push_back({i, 0});
      return outcome;
    }
    Drop(it);
  }
  const std::vector<uint32_t>& ranks = nodes_.Ranks();
  SlotTable<NodeEntry>::Series slots(nodes_);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::optional<uint32_t> slot = slots.Find(nodes[i]);
    const Candidate known = slot ? candidates_[*slot] : Candidate{};
    candidates[i] = {nodes[i], known.usage, slot.value_or(0), slot ? ranks[*slot] : 0, known.stamp};
  }
  const std::vector<core::QuotaRoom> quota = quota_.Room(pod.pod.ns);
  outcome.decision = core::Schedule(pod, {candidates, quota}, policy, registry_, &verdicts_);
  if (outcome.decision.fits()) {
    Holding holding;
    holding.pod = pod.pod;
    holding.node = nodes[outcome.decision.feasible.back().node];
    holding.allocation = outcome.decision.allocation;
    holding.notes = pod.notes;
    for (const core::ContainerDemand& container : pod.containers)
      holding.kinds.push_back(container.kind);
    const PodEntry& charged = Add(std::move(holding), /*bound=*/false);
    outcome.reservation = Reservation(this, pod.pod.uid, charged.generation);
  }
  return outcome;
}

core::Decision Ledger::Simulate(const core::PodRequest& pod,
                                std::span<const core::NodeInventory> nodes,
                                const core::SchedulePolicy& policy) const {
  std::vector<core::NodeUsage> usages(nodes.begin(), nodes.end());
  std::vector<core::QuotaRoom> quota;
  {
    MutexLock lock(mutex_);
    const auto own = pods_.find(pod.pod.uid);
    quota = quota_.Room(pod.pod.ns);
    for (core::NodeUsage& usage : usages) {
      const NodeEntry* node = nodes_.Find(usage.name());
      if (node == nullptr || !node->usage) continue;
      Project(*node, pod.pod.uid, usage);
      if (own != pods_.end() && own->second.holding.node == usage.name())
        GiveBack(own->second.charges, usage);
    }
    if (own != pods_.end() && !quota.empty())
      for (const Charge& charge : own->second.charges) {
        auto& [memory, cores] = quota[charge.vendor];
        if (memory) memory = core::SaturatingAdd(*memory, charge.use.memory);
        if (cores)
          cores = core::SaturatingAdd(*cores, charge.quota_cores.value_or(charge.use.cores));
      }
  }
  std::vector<core::CandidateNode> candidates;
  for (const core::NodeUsage& usage : usages)
    candidates.push_back({usage.name(), usage.devices().empty() ? nullptr : &usage});
  return core::Schedule(pod, {candidates, quota}, policy, registry_);
}

// What the pod's text does not say of its cards, and what is written beside it needs.
void Ledger::LookUpCards(Holding& holding) const {
  const NodeEntry* node = nodes_.Find(holding.node);
  if (node == nullptr || !node->usage) return;
  for (core::VendorAllocation& of_vendor : holding.allocation)
    for (std::vector<core::Share>& shares : of_vendor.containers)
      for (core::Share& share : shares) {
        const int device = node->usage->FindDevice(of_vendor.vendor, share.device_id);
        if (device < 0) continue;
        share.index = node->usage->devices()[device].index;
        share.facts = node->usage->devices()[device].facts;
      }
}

Reservation Ledger::Adopt(Holding holding) {
  if (holding.allocation.empty() || !holding.unreadable.empty()) return {};
  MutexLock lock(mutex_);
  LookUpCards(holding);
  const auto it = pods_.find(holding.pod.uid);
  Pods::node_type before;
  if (it != pods_.end()) {
    if (it->second.bound) return {};
    Apply(it->second, Sign::kGiveBack);
    before = pods_.extract(it);
  }
  const PodEntry& pod = Add(std::move(holding), /*bound=*/false);
  const std::string& uid = pod.holding.pod.uid;
  if (CardsSuffice(pod) && QuotaSuffices(pod) && !IsClosedTo(pod))
    return Reservation(this, uid, pod.generation);
  Drop(pods_.find(uid));
  if (before) {
    Apply(before.mapped(), Sign::kTake);
    pods_.insert(std::move(before));
  }
  return {};
}

}  // namespace aliquot::ledger
