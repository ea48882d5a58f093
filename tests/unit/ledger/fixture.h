// Two small vendors whose cards may carry equal ids, and short ways to write
// nodes, pods and what they hold.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aliquot/base/fake_clock.h"
#include "aliquot/core/gates.h"
#include "aliquot/ledger/ledger.h"

namespace aliquot::ledger {

using core::Allocation;
using core::ContainerKind;
using core::DeviceUse;
using core::VendorId;

inline constexpr VendorId kA = 0;
inline constexpr VendorId kB = 1;
inline constexpr VendorId kGamma = 2;  // its gates watch over slots only
inline constexpr int64_t kFactorOfB = 256;

inline constexpr core::Gate kGates[] = {
    core::gates::Healthy,     core::gates::IdAllowed,  core::gates::FreeSlot,
    core::gates::QuotaAllows, core::gates::FreeMemory, core::gates::FreeCores,
};
inline constexpr core::Gate kSlotGate[] = {core::gates::FreeSlot};

constexpr core::VendorSpec MakeSpec(std::string_view key, std::span<const core::Gate> gates) {
  core::VendorSpec spec;
  spec.key = key;
  spec.gates = gates;
  return spec;
}
inline constexpr core::VendorSpec kAlpha = MakeSpec("Alpha", kGates);
inline constexpr core::VendorSpec kBeta = MakeSpec("Beta", kGates);
inline constexpr core::VendorSpec kGammaSlotsOnly = MakeSpec("Gamma", kSlotGate);

inline core::Registry MakeRegistry() {
  core::VendorConfig a;
  a.count_name = "alpha/card";
  a.memory_name = "alpha/mem";
  a.cores_name = "alpha/cores";
  core::VendorConfig b;
  b.memory_name = "beta/mem";
  b.memory_factor = kFactorOfB;
  return core::Registry({{kAlpha, a}, {kBeta, b}, {kGammaSlotsOnly, {}}});
}

// 4 slots, 1000 of memory, 100 cores.
inline core::Device Card(VendorId vendor, std::string id, int64_t memory = 1000) {
  core::Device card;
  card.vendor = vendor;
  card.id = std::move(id);
  card.type = "model";
  card.slots = 4;
  card.memory = memory;
  card.cores = 100;
  card.healthy = true;
  card.requestable = true;
  return card;
}

struct Ask {
  ContainerKind kind = ContainerKind::kApp;
  VendorId vendor = kA;
  int64_t count = 1;
  int64_t memory = 0;
  int64_t cores = 0;
};

inline core::PodRequest Request(std::string uid, std::initializer_list<Ask> containers,
                                std::string ns = "team") {
  core::PodRequest request;
  request.pod = {std::move(ns), "pod-" + uid, std::move(uid)};
  request.selectors.resize(3);
  for (const Ask& ask : containers) {
    core::ContainerDemand demand;
    demand.name = "c" + std::to_string(request.containers.size());
    demand.kind = ask.kind;
    core::ContainerRequest wish;
    wish.vendor = ask.vendor;
    wish.count = ask.count;
    wish.memory = ask.memory;
    wish.cores = ask.cores;
    demand.requests.push_back(wish);
    request.containers.push_back(std::move(demand));
  }
  return request;
}

inline core::Share ShareOf(std::string id, int64_t memory, int64_t cores = 0) {
  core::Share share;
  share.device_id = std::move(id);
  share.memory = memory;
  share.cores = cores;
  return share;
}

using Shares = std::vector<std::vector<core::Share>>;  // per container

inline Holding Hold(std::string uid, std::string node, Shares shares, VendorId vendor = kA) {
  Holding holding;
  holding.kinds.assign(shares.size(), ContainerKind::kApp);
  holding.pod = {"team", "pod-" + uid, std::move(uid)};
  holding.node = std::move(node);
  if (!shares.empty()) holding.allocation.push_back({vendor, std::move(shares)});
  return holding;
}

inline Holding Unreadable(std::string uid, std::string node, VendorId vendor) {
  Holding holding = Hold(std::move(uid), std::move(node), {});
  holding.unreadable = {vendor};
  return holding;
}

class LedgerTest : public testing::Test {
 protected:
  void SetNode(std::string name, std::vector<core::Device> cards) {
    ledger_.SetNode({std::move(name), std::move(cards)});
  }

  Ledger::Outcome Schedule(const core::PodRequest& pod, std::vector<std::string_view> nodes) {
    return ledger_.Schedule(pod, nodes, {});
  }

  // Reserves for good; the node that was chosen, or the reason of the first node.
  std::string Place(const core::PodRequest& pod, std::vector<std::string_view> nodes) {
    Ledger::Outcome outcome = Schedule(pod, nodes);
    if (!outcome.decision.fits()) return outcome.decision.refusals.front().ToString();
    outcome.reservation.Commit();
    return std::string(nodes[outcome.decision.feasible.back().node]);
  }

  // What is in use of a card of a registered node.
  DeviceUse Use(std::string_view node, std::string_view id, VendorId vendor = kA) {
    const std::optional<core::NodeUsage> usage = ledger_.Node(node);
    if (!usage || usage->FindDevice(vendor, id) < 0) {
      ADD_FAILURE() << "no card " << id << " on " << node;
      return {};
    }
    return usage->use()[static_cast<size_t>(usage->FindDevice(vendor, id))];
  }

  // What is kept is what would be computed afresh.
  void TearDown() override { EXPECT_EQ(ledger_.Usage(), ledger_.RebuildUsage()); }

  FakeClock clock_;
  const core::Registry registry_ = MakeRegistry();
  Ledger ledger_{registry_, clock_};
};

}  // namespace aliquot::ledger

namespace aliquot::core {

inline void PrintTo(const DeviceUse& use, std::ostream* out) {
  *out << use.slots << " slots, " << use.memory << " memory, " << use.cores << " cores";
}

}  // namespace aliquot::core
