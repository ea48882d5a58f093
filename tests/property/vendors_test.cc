// Random streams of pods on random hosts of every vendor. Hosts tell of their cards
// in the vendor's wire format, pods ask by resources, and what they were given is
// read from their annotations, by the product as by the checker. After every step:
// nothing is given twice (checker.h), and the ledger's usage is what its holdings add
// up to. Two runs from one seed give the same bytes.
//
// ALIQUOT_PROPERTY_SEED=N repeats one walk, ALIQUOT_PROPERTY_WALKS=N makes N walks
// of each kind of hardware instead of a few.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <numeric>
#include <variant>

#include "aliquot/base/fake_clock.h"
#include "aliquot/base/log.h"
#include "aliquot/config/device_config.h"
#include "aliquot/config/flags.h"
#include "aliquot/core/policy.h"
#include "aliquot/ledger/ledger.h"
#include "aliquot/scheduler/assignment.h"
#include "aliquot/vendors/registry.h"
#include "cli/vendor_configs.h"
#include "property/checker.h"
#include "property/hardware.h"
#include "property/random.h"
#include "scheduler/node_reader.h"

namespace aliquot::property {
namespace {

using std::chrono_literals::operator""s;

constexpr int kSteps = 250;
constexpr int kWalks = 4;
constexpr size_t kMostPods = 30;
constexpr size_t kMostVendors = 4;  // of one walk

// As `aliquot serve` makes them of the default device configuration.
const core::Registry& AllVendors() {
  static const core::Registry registry = [] {
    const std::vector<std::string> args = {"--enable-ascend", "--enable-iluvatar"};
    const auto flags = config::ParseServeFlags(args);
    const auto devices = config::LoadDeviceConfig(DEVICE_CONFIG);
    return vendors::MakeRegistry(cli::VendorConfigs(*flags, *devices));
  }();
  return registry;
}

std::string Joined(const std::vector<std::string>& lines) {
  return std::accumulate(
      lines.begin(), lines.end(), std::string(),
      [](const std::string& all, const std::string& line) { return all + "\n  " + line; });
}

struct Member {
  kube::Pod pod;
  Resident resident;
  bool bound = false;
};

class Walk {
 public:
  Walk(uint64_t seed, std::vector<std::string> keys) : random_(seed), keys_(std::move(keys)) {
    random_.Shuffle(keys_);
    if (keys_.size() > kMostVendors) keys_.resize(kMostVendors);
    for (const char* name : {"h0", "h1", "h2"}) hosts_.push_back(AnyHost(name));
    LimitATeam();
    ledger_ = FreshLedger();
  }

  void Step() {
    const int64_t dice = random_.Between(1, 100);
    if (dice <= 45) return Filter();
    if (dice <= 62) return Bind();
    if (dice <= 72) return FinishInit();
    if (dice <= 88) return Remove();
    if (dice <= 92) return Forget();
    if (dice <= 97) return Republish();
    Restart();
  }

  void Check() const {
    ASSERT_EQ(ledger_->Usage(), ledger_->RebuildUsage());
    const std::vector<std::string> faults = Faults(hosts_, Residents(), quotas_);
    ASSERT_TRUE(faults.empty()) << Joined(faults);
  }

  const std::string& trace() const { return trace_; }
  int placed() const { return placed_; }
  int refused() const { return refused_; }

 private:
  // ---- hosts

  // With hardware of some of the vendors, or of the only one.
  Host AnyHost(const std::string& name) {
    Host host{name};
    std::vector<std::string> keys = keys_;
    random_.Shuffle(keys);
    keys.resize(static_cast<size_t>(random_.Between(1, std::ssize(keys))));
    for (const std::string& key : keys) {
      const Hardware& hardware = AllHardware().at(key);
      hardware.install(hardware, random_, host);
    }
    property::Publish(host);
    return host;
  }

  kube::Node NodeOf(const Host& host) const {
    kube::Node node;
    node.meta.name = host.name;
    node.meta.annotations = host.annotations;
    node.meta.labels = host.labels;
    node.capacity = node.allocatable = host.capacity;
    return node;
  }

  void Register(const Host& host, ledger::Ledger& ledger) const {
    scheduler::NodeReading reading = scheduler::ReadNode(NodeOf(host), AllVendors());
    ASSERT_TRUE(reading.problems.empty()) << reading.DescribeProblems(AllVendors());
    ASSERT_EQ(reading.inventory.devices.size(), host.cards.size());
    ledger.SetNode(std::move(reading.inventory));
  }

  // The plugins report again: in another order, and some cards are out of order.
  void Republish() {
    Host& host = random_.Any(hosts_);
    random_.Shuffle(host.cards);
    for (Card& card : host.cards)
      card.healthy = !AllHardware().at(card.vendor).tells_health || random_.Chance(85);
    property::Publish(host);
    Register(host, *ledger_);
  }

  // ---- quotas

  void LimitATeam() {
    for (const std::string& key : keys_) {
      const Hardware& hardware = AllHardware().at(key);
      if (!hardware.memory_resource.empty() && random_.Chance(50))
        quotas_["team"][hardware.memory_resource] =
            random_.Between(0, 60000) / hardware.memory_factor;
      if (!hardware.cores_resource.empty() && random_.Chance(50))
        quotas_["team"][hardware.cores_resource] = random_.Between(0, 200);
    }
  }

  std::unique_ptr<ledger::Ledger> FreshLedger() const {
    auto ledger = std::make_unique<ledger::Ledger>(AllVendors(), clock_);
    for (const Host& host : hosts_) Register(host, *ledger);
    for (const auto& [ns, limits] : quotas_) {
      StringMap hard;
      for (const auto& [resource, limit] : limits)
        hard["limits." + resource] = std::to_string(limit);
      ledger->SetQuota(ns, "quota", hard);
    }
    return ledger;
  }

  // ---- pods

  kube::Container AnyContainer(std::map<std::string, int64_t>& counts) {
    kube::Container container;
    if (random_.Chance(15)) return container;  // asks for nothing
    std::vector<std::string> keys = keys_;
    random_.Shuffle(keys);
    keys.resize(static_cast<size_t>(random_.Between(1, std::min<int64_t>(2, std::ssize(keys)))));
    for (const std::string& key : keys) {
      const Hardware& hardware = AllHardware().at(key);
      const Ask ask = hardware.ask(hardware, random_);
      container.limits.insert(ask.limits.begin(), ask.limits.end());
      counts[key] = ask.count;
    }
    return container;
  }

  Member AnyPod() {
    Member member;
    kube::Pod& pod = member.pod;
    pod.meta.name = "p" + std::to_string(++pods_);
    pod.meta.uid = "uid-" + pod.meta.name;
    pod.meta.ns = random_.OneOf<std::string>({"team", "others"});
    const int64_t inits = random_.OneOf<int64_t>({0, 0, 0, 1, 2});
    const int64_t apps = random_.OneOf<int64_t>({1, 1, 1, 2, 3});
    member.resident.counts.resize(static_cast<size_t>(inits + apps));
    for (int64_t i = 0; i < inits + apps; ++i) {
      kube::Container container = AnyContainer(member.resident.counts[static_cast<size_t>(i)]);
      container.name = "c" + std::to_string(i);
      container.restart_always = i < inits && random_.Chance(40);
      member.resident.kinds.push_back(i >= inits                 ? Kind::kApp
                                      : container.restart_always ? Kind::kSidecar
                                                                 : Kind::kInit);
      (i < inits ? pod.init_containers : pod.containers).push_back(std::move(container));
    }
    Annotate(pod.meta.annotations);
    member.resident.uid = pod.meta.uid;
    member.resident.ns = pod.meta.ns;
    return member;
  }

  void Annotate(StringMap& annotations) {
    annotations["hami.io/node-scheduler-policy"] =
        random_.OneOf<std::string>({"binpack", "spread"});
    annotations["hami.io/gpu-scheduler-policy"] = random_.OneOf<std::string>(
        {"binpack", "spread", "spread", "mutex", "topology-aware", "numa,binpack", "spread,mutex"});
    for (const std::string& key : keys_) {
      const Hardware& hardware = AllHardware().at(key);
      if (hardware.annotate != nullptr) hardware.annotate(hardware, random_, annotations);
      const Card* card = AnyCardOf(key);
      if (card == nullptr) continue;
      const auto maybe = [&](const std::string& list, const std::string& text) {
        if (!list.empty() && random_.Chance(8)) annotations[list] = text;
      };
      maybe(hardware.use_id, card->id + ", none");
      maybe(hardware.nouse_id, "none, " + card->id);
      maybe(hardware.use_type, card->type);
      maybe(hardware.nouse_type, card->type);
    }
  }

  const Card* AnyCardOf(const std::string& key) {
    std::vector<const Card*> cards;
    for (const Host& host : hosts_)
      for (const Card& card : host.cards)
        if (card.vendor == key) cards.push_back(&card);
    return cards.empty() ? nullptr : random_.Any(cards);
  }

  std::vector<Resident> Residents() const {
    std::vector<Resident> residents;
    for (const Member& member : members_) residents.push_back(member.resident);
    return residents;
  }

  // Null: there is none.
  Member* AnyMember(bool bound) {
    std::vector<Member*> members;
    for (Member& member : members_)
      if (member.bound == bound) members.push_back(&member);
    return members.empty() ? nullptr : random_.Any(members);
  }

  void Erase(const std::string& uid) {
    std::erase_if(members_, [&](const Member& member) { return member.resident.uid == uid; });
  }

  // ---- what happens

  // Of a new pod, or once more of one that is not bound yet.
  void Filter() {
    Member* again = random_.Chance(20) ? AnyMember(false) : nullptr;
    if (again == nullptr && members_.size() >= kMostPods) return Remove();
    Member member = again != nullptr ? *again : AnyPod();
    const ObjectRef ref = member.pod.meta.Ref();
    const auto request = core::ParseRequests(scheduler::SpecOf(member.pod, ref), AllVendors());
    if (const auto* invalid = std::get_if<core::InvalidRequest>(&request))
      FAIL() << invalid->ToString();
    const auto& wish = std::get<core::PodRequest>(request);
    if (wish.empty()) return;
    const auto policy = core::ResolvePolicy(member.pod.meta.annotations, {});
    ASSERT_TRUE(policy);
    std::vector<std::string_view> names;
    for (const Host& host : hosts_)
      if (random_.Chance(80)) names.push_back(host.name);

    ledger::Ledger::Outcome outcome = ledger_->Schedule(wish, names, *policy);
    Erase(ref.uid);
    for (const core::RefusedNode& refused : outcome.decision.refused)
      trace_ +=
          std::string(names[refused.node]) + " " + outcome.decision.Why(refused).ToString() + "\n";
    if (!outcome.decision.fits()) {
      ++refused_;
      return;
    }
    ++placed_;
    const std::string host(names[outcome.decision.feasible.back().node]);
    Write(member, outcome.decision.allocation, host);
    const std::vector<std::string> faults =
        FaultsOfChoice(HostNamed(host), Residents(), member.resident, quotas_);
    ASSERT_TRUE(faults.empty()) << Describe(member) << Joined(faults);
    if (random_.Chance(10)) return;  // the patch failed: the reservation reverts itself
    outcome.reservation.Commit();
    members_.push_back(std::move(member));
  }

  void Write(Member& member, const core::Allocation& allocation, const std::string& host) {
    clock_.Advance(1s);
    StringMap& annotations = member.pod.meta.annotations;
    for (const std::string& stale : scheduler::StaleKeys(annotations, {}, AllVendors()))
      annotations.erase(stale);
    for (const auto& [key, text] : scheduler::AssignmentAnnotations(member.pod, allocation, host,
                                                                    clock_.Now(), AllVendors())) {
      annotations[key] = text;
      trace_ += key + " " + text + "\n";
    }
    member.resident.annotations = annotations;
    member.resident.host = host;
  }

  const Host& HostNamed(const std::string& name) const {
    return *std::find_if(hosts_.begin(), hosts_.end(),
                         [&](const Host& host) { return host.name == name; });
  }

  static std::string Describe(const Member& member) {
    std::string text = member.pod.meta.name + " on " + member.resident.host;
    for (const auto* containers : {&member.pod.init_containers, &member.pod.containers})
      for (const kube::Container& container : *containers) {
        text += "\n " + container.name + (container.restart_always ? " (sidecar)" : "");
        for (const auto& [resource, amount] : container.limits)
          text += " " + resource + "=" + amount;
      }
    for (const auto& [key, value] : member.resident.annotations) text += "\n " + key + ": " + value;
    return text;
  }

  ledger::Holding Seen(const Member& member) const {
    scheduler::WrittenHolding written =
        scheduler::HoldingOf(member.pod, member.resident.host, AllVendors());
    EXPECT_TRUE(written.problems.empty()) << Joined(written.problems);
    return std::move(written.holding);
  }

  void Bind() {
    Member* member = AnyMember(false);
    if (member == nullptr) return;
    member->bound = true;
    member->pod.node_name = member->resident.host;
    if (random_.Chance(50)) ledger_->MarkBound(member->resident.uid);
    if (random_.Chance(70))
      ledger_->Observe(Seen(*member));
    else
      ledger_->MarkBound(member->resident.uid);
  }

  void FinishInit() {
    Member* member = AnyMember(true);
    if (member == nullptr || member->pod.init_containers.empty()) return;
    for (const kube::Container& container : member->pod.init_containers)
      member->pod.init_statuses.push_back({container.name, !container.restart_always, 0});
    member->resident.init_done = scheduler::InitDone(member->pod);
    ledger_->Observe(Seen(*member));
  }

  void Remove() {
    if (members_.empty()) return;
    const std::string uid = random_.Any(members_).resident.uid;
    ASSERT_TRUE(ledger_->Remove(uid));
    Erase(uid);
  }

  void Forget() {
    Member* member = AnyMember(false);
    if (member == nullptr) return;
    const std::string uid = member->resident.uid;
    ASSERT_TRUE(ledger_->Forget(uid));
    Erase(uid);
  }

  // Everything is read from the API server again, in any order.
  void Restart() {
    const ledger::UsageTable before = ledger_->Usage();
    ledger_ = FreshLedger();
    random_.Shuffle(members_);
    for (const bool bound : {true, false})
      for (const Member& member : members_) {
        if (member.bound != bound) continue;
        if (bound) {
          ledger_->Observe(Seen(member));
        } else {
          ledger::Reservation adopted = ledger_->Adopt(Seen(member));
          ASSERT_TRUE(adopted.armed()) << Describe(member);
          adopted.Commit();
        }
      }
    ASSERT_EQ(ledger_->Usage(), before);
  }

  Random random_;
  std::vector<std::string> keys_;
  FakeClock clock_;
  std::vector<Host> hosts_;
  Quotas quotas_;
  std::unique_ptr<ledger::Ledger> ledger_;
  std::vector<Member> members_;
  int64_t pods_ = 0;
  int placed_ = 0, refused_ = 0;
  std::string trace_;
};

// ---- the tests

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

struct Vendors {
  std::string name;
  std::vector<std::string> keys;
};

void PrintTo(const Vendors& vendors, std::ostream* out) { *out << vendors.name; }

// Each by itself, those that share cards together, and any of all.
std::vector<Vendors> Selections() {
  std::vector<Vendors> selections = {{"EnflameAndGcu", {"Enflame", "GCU"}},
                                     {"KunlunAndXpu", {"XPU", "kunlun"}}};
  Vendors all{"SeveralOfAll", {}};
  for (const auto& [key, hardware] : AllHardware()) {
    std::string name = key;
    std::replace(name.begin(), name.end(), '-', '_');
    selections.push_back({name, {key}});
    all.keys.push_back(key);
  }
  selections.push_back(std::move(all));
  return selections;
}

class VendorsTest : public ::testing::TestWithParam<Vendors> {
 protected:
  static void SetUpTestSuite() {
    log::Options quiet;
    quiet.file = "/dev/null";
    log::SetUp(quiet);
  }

  static std::vector<uint64_t> Seeds() {
    if (const int64_t seed = FromEnvironment("ALIQUOT_PROPERTY_SEED", 0); seed > 0)
      return {static_cast<uint64_t>(seed)};
    std::vector<uint64_t> seeds(
        static_cast<size_t>(FromEnvironment("ALIQUOT_PROPERTY_WALKS", kWalks)));
    std::iota(seeds.begin(), seeds.end(), 1);
    return seeds;
  }
};

TEST_P(VendorsTest, NothingIsGivenTwice) {
  int placed = 0, refused = 0, steps = 0;
  for (const uint64_t seed : Seeds()) {
    Walk walk(seed, GetParam().keys);
    for (int step = 0; step < kSteps; ++step, ++steps) {
      SCOPED_TRACE("ALIQUOT_PROPERTY_SEED=" + std::to_string(seed) + " step " +
                   std::to_string(step));
      walk.Step();
      walk.Check();
      if (HasFatalFailure()) return;
    }
    placed += walk.placed();
    refused += walk.refused();
  }
  // The walks reach what they are about.
  EXPECT_GT(placed, steps / 20);
  EXPECT_GT(refused, steps / 50);
}

TEST_P(VendorsTest, TwoRunsGiveTheSameBytes) {
  const uint64_t seed = Seeds().front();
  Walk first(seed, GetParam().keys), second(seed, GetParam().keys);
  for (int step = 0; step < kSteps; ++step) {
    first.Step();
    second.Step();
  }
  EXPECT_EQ(first.trace(), second.trace()) << "seed " << seed;
  EXPECT_GT(first.trace().size(), 1000U);
}

INSTANTIATE_TEST_SUITE_P(Hardware, VendorsTest, ::testing::ValuesIn(Selections()),
                         [](const auto& param_info) { return param_info.param.name; });

TEST(Hardware, IsThereForEveryVendor) {
  std::vector<std::string> vendors, hardware;
  for (const core::Vendor& vendor : AllVendors().vendors()) vendors.emplace_back(vendor.key());
  for (const auto& [key, of_vendor] : AllHardware()) hardware.push_back(key);
  EXPECT_EQ(vendors, hardware);
}

}  // namespace
}  // namespace aliquot::property
