#include "property/checker.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace aliquot::property {
namespace {

using Json = nlohmann::json;
using Lines = std::vector<std::string>;

constexpr int64_t kWhole = 100;

// ---- texts

std::vector<std::string> SplitAt(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

std::string At(const StringMap& map, const std::string& key) {
  const auto it = map.find(key);
  return it == map.end() ? std::string() : it->second;
}

struct Share {
  std::string id, type;
  int64_t memory = 0, cores = 0;
};

// "A,T,1,2:B,T,1,2:;;" per container.
std::vector<std::vector<Share>> SharesOf(const Resident& pod, const Hardware& hardware) {
  std::vector<std::vector<Share>> containers;
  for (const std::string& container : SplitAt(At(pod.annotations, hardware.allocated), ';')) {
    std::vector<Share>& shares = containers.emplace_back();
    for (const std::string& entry : SplitAt(container, ':')) {
      const std::vector<std::string> fields = SplitAt(entry, ',');
      shares.push_back(
          {fields.at(0), fields.at(1), std::stoll(fields.at(2)), std::stoll(fields.at(3))});
    }
  }
  containers.resize(std::max(containers.size(), pod.kinds.size()));
  return containers;
}

bool Listed(const std::string& list, const std::string& word) {
  for (std::string member : SplitAt(list, ',')) {
    member.erase(0, member.find_first_not_of(' '));
    if (member == word) return true;
  }
  return false;
}

// ---- who runs beside whom

// The sets of containers of a pod that are there at one time.
std::vector<std::vector<size_t>> MomentsOf(const Resident& pod) {
  std::vector<std::vector<size_t>> moments;
  std::vector<size_t> staying;
  for (size_t i = 0; i < pod.kinds.size(); ++i) {
    if (pod.kinds[i] == Kind::kInit) {
      if (pod.init_done) continue;
      moments.push_back(staying);
      moments.back().push_back(i);
    } else {
      staying.push_back(i);
    }
  }
  moments.push_back(staying);
  return moments;
}

// What of a card is taken at one time, or at most.
struct Use {
  int64_t slots = 0, memory = 0, cores = 0;
};

int64_t SlotsOf(const Card& card, const Share& share) {
  if (card.vendor != "Enflame") return 1;
  for (const Profile& profile : card.profiles)
    if (profile.memory == share.memory && profile.cores == share.cores) return profile.slices;
  throw std::runtime_error(share.id + ": a slice of no profile");
}

// A pod on one card: at each time what its containers have.
struct Stay {
  const Resident* pod = nullptr;
  std::vector<std::vector<Share>> moments;

  Use Peak(const Card& card) const {
    Use peak;
    for (const std::vector<Share>& moment : moments) {
      Use now;
      for (const Share& share : moment) {
        now.slots += SlotsOf(card, share);
        now.memory += share.memory;
        now.cores += share.cores;
      }
      peak = {std::max(peak.slots, now.slots), std::max(peak.memory, now.memory),
              std::max(peak.cores, now.cores)};
    }
    return peak;
  }
};

// Pods that have something of the card at some time that is still to come.
std::vector<Stay> StaysOn(const Host& host, const Card& card,
                          const std::vector<Resident>& residents) {
  const Hardware& hardware = AllHardware().at(card.vendor);
  std::vector<Stay> stays;
  for (const Resident& pod : residents) {
    if (pod.host != host.name || !pod.annotations.contains(hardware.allocated)) continue;
    const std::vector<std::vector<Share>> shares = SharesOf(pod, hardware);
    Stay stay{&pod, {}};
    bool any = false;
    for (const std::vector<size_t>& containers : MomentsOf(pod)) {
      std::vector<Share>& moment = stay.moments.emplace_back();
      for (const size_t container : containers)
        for (const Share& share : shares[container])
          if (share.id == card.id) moment.push_back(share);
      any = any || !moment.empty();
    }
    if (any) stays.push_back(std::move(stay));
  }
  return stays;
}

std::string ClassOf(const Resident& pod) {
  return At(pod.annotations, "metax-tech.com/sgpu-app-class");
}

// ---- rules of single cards

void CheckAmounts(const Hardware& hardware, const Card& card, const std::vector<Stay>& stays,
                  Lines& faults) {
  Use total;
  for (const Stay& stay : stays) {
    const Use peak = stay.Peak(card);
    total = {total.slots + peak.slots, total.memory + peak.memory, total.cores + peak.cores};
  }
  const bool cut_up = card.mode == "mig";
  const auto check = [&](bool applies, const char* what, int64_t used, int64_t has) {
    if (applies && used > has)
      faults.push_back(card.id + ": " + what + " " + std::to_string(used) + " of " +
                       std::to_string(has));
  };
  check(hardware.slots, "slots", total.slots, card.slots);
  check(hardware.memory, "memory", total.memory, card.memory);
  check(hardware.cores && !cut_up, "cores", total.cores, card.cores);
}

void CheckExclusive(const Hardware& hardware, const Card& card, const std::vector<Stay>& stays,
                    Lines& faults) {
  if (!hardware.exclusive || card.cores != kWhole || card.mode == "mig") return;
  const auto counts = [&](const Stay& stay) { return ClassOf(*stay.pod) != "online"; };
  for (const Stay& stay : stays) {
    if (!counts(stay)) continue;
    for (const std::vector<Share>& moment : stay.moments) {
      if (std::none_of(moment.begin(), moment.end(),
                       [](const Share& share) { return share.cores == kWhole; }))
        continue;
      if (moment.size() > 1 || std::count_if(stays.begin(), stays.end(), counts) > 1)
        faults.push_back(card.id + ": " + stay.pod->uid + " is not alone with all cores");
    }
  }
}

// AWS: cores are a set of bits.
void CheckBits(const Card& card, const std::vector<Stay>& stays, Lines& faults) {
  int64_t taken = 0;
  for (const Stay& stay : stays) {
    int64_t ever = 0;
    for (const std::vector<Share>& moment : stay.moments) {
      int64_t now = 0;
      for (const Share& share : moment) {
        if (share.cores <= 0 || (share.cores & ~card.cores) != 0 || (share.cores & now) != 0)
          faults.push_back(card.id + ": cores " + std::to_string(share.cores) + " beside " +
                           std::to_string(now));
        now |= share.cores;
      }
      ever |= now;
    }
    if ((taken & ever) != 0) faults.push_back(card.id + ": cores given to two pods");
    taken |= ever;
  }
}

// XPU: the parts of a card are of one size. A pod that has a card to itself may cut it
// anew after its init containers.
void CheckOneSize(const Card& card, const std::vector<Stay>& stays, Lines& faults) {
  std::set<int64_t> ever;
  for (const Stay& stay : stays)
    for (const std::vector<Share>& moment : stay.moments) {
      std::set<int64_t> now;
      for (const Share& share : moment) now.insert(share.memory);
      if (now.size() > 1) faults.push_back(card.id + ": parts of two sizes in one pod");
      ever.insert(now.begin(), now.end());
    }
  if (stays.size() > 1 && ever.size() > 1) faults.push_back(card.id + ": parts of two sizes");
}

// MetaX: classes do not mix with pods without one, nor one QoS with another.
void CheckCompany(const Card& card, const std::vector<Stay>& stays, Lines& faults) {
  std::set<bool> classed;
  std::set<std::string> qos;
  for (const Stay& stay : stays) {
    classed.insert(!ClassOf(*stay.pod).empty());
    if (ClassOf(*stay.pod) == "online") continue;
    for (const std::vector<Share>& moment : stay.moments)
      for (const Share& share : moment)
        if (share.cores != kWhole)
          qos.insert(At(stay.pod->annotations, "metax-tech.com/sgpu-qos-policy"));
  }
  if (classed.size() > 1) faults.push_back(card.id + ": a class beside none");
  if (qos.size() > 1) faults.push_back(card.id + ": two QoS");
}

// ---- MIG

struct Instance {
  const Resident* pod = nullptr;
  size_t container = 0;
  std::string profile;
  int64_t start = 0, size = 0;

  bool Overlaps(const Instance& other) const {
    return start < other.start + other.size && other.start < start + size;
  }
};

std::vector<Instance> InstancesOn(const Host& host, const Card& card,
                                  const std::vector<Resident>& residents) {
  std::vector<Instance> instances;
  for (const Resident& pod : residents) {
    if (pod.host != host.name) continue;
    const auto it = pod.annotations.find("hami.io/vgpu-mig-allocations");
    if (it == pod.annotations.end()) continue;
    for (const Json& one : Json::parse(it->second)) {
      const size_t container = one["containerIndex"];
      if (one["gpuUUID"] != card.id) continue;
      if (pod.init_done && pod.kinds.at(container) == Kind::kInit) continue;
      instances.push_back(
          {&pod, container, one["profile"], one["placement"]["start"], one["placement"]["size"]});
    }
  }
  return instances;
}

// One takes over what the other, of an init container of the same pod, had.
bool FollowsInit(const Instance& a, const Instance& b) {
  return a.pod == b.pod && a.container != b.container && a.start == b.start && a.size == b.size &&
         a.profile == b.profile && a.pod->kinds[std::min(a.container, b.container)] == Kind::kInit;
}

void CheckGeometry(const Host& host, const Card& card, const std::vector<Resident>& residents,
                   Lines& faults) {
  const std::vector<Instance> instances = InstancesOn(host, card, residents);
  if (card.mode != "mig" && !instances.empty()) faults.push_back(card.id + ": is not cut up");
  for (size_t i = 0; i < instances.size(); ++i) {
    const Instance& one = instances[i];
    const auto profile =
        std::find_if(card.profiles.begin(), card.profiles.end(),
                     [&](const Profile& known) { return known.name == one.profile; });
    if (profile == card.profiles.end() || std::count(profile->places.begin(), profile->places.end(),
                                                     std::pair(one.start, one.size)) == 0)
      faults.push_back(card.id + ": no place for " + one.profile);
    for (size_t j = 0; j < i; ++j)
      if (one.Overlaps(instances[j]) && !FollowsInit(one, instances[j]))
        faults.push_back(card.id + ": instances lie on each other");
  }
  if (card.mode != "mig") return;
  size_t shares = 0;
  for (const Resident& pod : residents) {
    if (pod.host != host.name) continue;
    const auto containers = SharesOf(pod, AllHardware().at(card.vendor));
    for (size_t i = 0; i < containers.size(); ++i)
      for (const Share& share : containers[i])
        if (share.id == card.id && !(pod.init_done && pod.kinds[i] == Kind::kInit)) ++shares;
  }
  if (shares != instances.size()) faults.push_back(card.id + ": a share without an instance");
}

// ---- hosts

// The same hardware is offered whole and in parts: the card as the other vendor has it.
const Card* TwinOf(const Host& host, const Card& card) {
  static const std::map<std::string, std::string> kOther = {
      {"GCU", "Enflame"}, {"Enflame", "GCU"}, {"kunlun", "XPU"}, {"XPU", "kunlun"}};
  const auto other = kOther.find(card.vendor);
  if (other == kOther.end()) return nullptr;
  for (const Card& twin : host.cards)
    if (twin.vendor == other->second && twin.index == card.index) return &twin;
  return nullptr;
}

// At one time: a pod may have parts first and the whole card when its init containers
// are done.
bool AtOneTime(const Stay& a, const Stay& b) {
  if (a.pod != b.pod) return true;
  for (size_t i = 0; i < a.moments.size(); ++i)
    if (!a.moments[i].empty() && !b.moments[i].empty()) return true;
  return false;
}

void CheckTwins(const Host& host, const std::vector<Resident>& residents, Lines& faults) {
  for (const Card& card : host.cards) {
    const Card* twin = TwinOf(host, card);
    if (twin == nullptr) continue;
    for (const Stay& here : StaysOn(host, card, residents))
      for (const Stay& there : StaysOn(host, *twin, residents))
        if (AtOneTime(here, there)) faults.push_back(card.id + ": given whole and in parts");
  }
}

void CheckQuotas(const std::vector<Host>& hosts, const std::vector<Resident>& residents,
                 const Quotas& quotas, Lines& faults) {
  for (const auto& [ns, limits] : quotas) {
    std::vector<Resident> of_ns;
    std::copy_if(residents.begin(), residents.end(), std::back_inserter(of_ns),
                 [&, &name = ns](const Resident& pod) { return pod.ns == name; });
    for (const auto& [resource, limit] : limits) {
      int64_t used = 0, factor = 1;
      for (const Host& host : hosts)
        for (const Card& card : host.cards) {
          const Hardware& hardware = AllHardware().at(card.vendor);
          for (const Stay& stay : StaysOn(host, card, of_ns)) {
            const Use peak = stay.Peak(card);
            if (resource == hardware.memory_resource) {
              used += peak.memory;
              factor = hardware.memory_factor;
            } else if (resource == hardware.cores_resource) {
              used += card.vendor == "AMD" ? (peak.cores * 100 + card.cores - 1) / card.cores
                      : card.vendor == "AWSNeuron"
                          ? std::popcount(static_cast<uint64_t>(peak.cores))
                          : peak.cores;
            }
          }
        }
      if (used > limit * factor)
        faults.push_back(ns + ": " + resource + " " + std::to_string(used) + " of " +
                         std::to_string(limit * factor));
    }
  }
}

// ---- choices: what one container got

struct Choice {
  const Host& host;
  const Hardware& hardware;
  const Resident& pod;
  size_t container;
  std::vector<const Card*> cards;  // one per share
  std::set<std::string> busy;      // cards that others have, or other containers of the pod
  bool unlimited = true;           // nothing speaks against an idle card: no quota, no list
  bool whole = true;               // all cores of each card

  bool IsIdle(const Card& card) const {
    return card.vendor == hardware.key && card.healthy && !busy.contains(card.id);
  }
  bool IsChosen(const Card& card) const {
    return std::count(cards.begin(), cards.end(), &card) > 0;
  }
  std::vector<int64_t> Indexes() const {
    std::vector<int64_t> indexes;
    for (const Card* card : cards) indexes.push_back(card->index);
    std::sort(indexes.begin(), indexes.end());
    return indexes;
  }
};

// Only one of the groups that were taken from may have an idle card left, and none
// at all if a card without a group was taken.
void CheckGroups(const Choice& choice, Lines& faults) {
  std::set<std::string> taken;
  for (const Card* card : choice.cards) taken.insert(card->group);
  std::set<std::string> left_over;
  bool any_left = false;
  for (const Card& card : choice.host.cards)
    if (choice.IsIdle(card) && !choice.IsChosen(card) && !card.group.empty()) {
      any_left = true;
      if (taken.contains(card.group)) left_over.insert(card.group);
    }
  if (taken.size() > 1 && left_over.size() > 1) faults.push_back("several groups were broken up");
  if (taken.contains("") && any_left) faults.push_back("a card without a group before others");
}

// 910C: two NPUs are a module.
void CheckModules(const Choice& choice, Lines& faults) {
  std::map<int64_t, int> modules;
  for (const Card* card : choice.cards) ++modules[card->index / 2];
  const auto halves = std::count_if(modules.begin(), modules.end(),
                                    [](const auto& module) { return module.second == 1; });
  if (halves != static_cast<int64_t>(choice.cards.size() % 2))
    faults.push_back("halves of modules");
}

// Kunlun: two wings of four, connected in rings.
void CheckWings(const Choice& choice, Lines& faults) {
  const std::vector<int64_t> cards = choice.Indexes();
  const auto in_wing = [](int64_t index, bool right) { return (index >= 4) == right; };
  const bool one_wing = cards.back() < 4 || cards.front() >= 4;
  static const std::set<std::vector<int64_t>> kAcross = {{0, 4},
                                                         {1, 5},
                                                         {2, 6},
                                                         {3, 7},
                                                         {0, 1, 4, 5},
                                                         {2, 3, 6, 7},
                                                         {0, 2, 4, 6},
                                                         {1, 3, 5, 7},
                                                         {0, 3, 4, 7},
                                                         {1, 2, 5, 6},
                                                         {0, 1, 2, 3, 4, 5, 6, 7}};
  if (!one_wing && !kAcross.contains(cards)) faults.push_back("cards that are not connected");
  for (const bool right : {false, true}) {
    int64_t idle = 0;
    for (const Card& card : choice.host.cards)
      if (choice.IsIdle(card) && in_wing(card.index, right) && card.index < 8) ++idle;
    if (!one_wing && cards.size() <= 4 && idle >= static_cast<int64_t>(cards.size()))
      faults.push_back("across the wings though one would do");
  }
}

// AWS: neighbours; outside of rings blocks of 4, 8 or 16.
void CheckBlock(const Choice& choice, Lines& faults) {
  const std::vector<int64_t> cards = choice.Indexes();
  const auto count = static_cast<int64_t>(cards.size());
  if (cards.back() - cards.front() != count - 1) faults.push_back("devices that are no neighbours");
  const bool ring = At(choice.host.labels, "node.kubernetes.io/instance-type").starts_with("inf");
  if (!ring && ((count != 4 && count != 8 && count != 16) || cards.front() % count != 0))
    faults.push_back("no block of devices");
}

int64_t LinksAmong(const std::vector<const Card*>& cards) {
  int64_t links = 0;
  for (size_t i = 0; i < cards.size(); ++i)
    for (size_t j = i + 1; j < cards.size(); ++j) links += cards[i]->links.at(cards[j]->id);
  return links;
}

// NVIDIA: no idle cards would have better links.
void CheckLinks(const Choice& choice, Lines& faults) {
  std::vector<const Card*> idle;
  for (const Card& card : choice.host.cards)
    if (choice.IsIdle(card) && !card.cordoned) idle.push_back(&card);
  const size_t count = choice.cards.size();
  const int64_t links = LinksAmong(choice.cards);
  for (unsigned set = 0; set < 1U << idle.size(); ++set) {
    if (static_cast<size_t>(std::popcount(set)) != count) continue;
    std::vector<const Card*> cards;
    for (size_t i = 0; i < idle.size(); ++i)
      if (((set >> i) & 1U) != 0) cards.push_back(idle[i]);
    if (LinksAmong(cards) > links) return faults.push_back("cards with worse links than others");
  }
}

bool UsesAnySelector(const Hardware& hardware, const Resident& pod) {
  for (const std::string& key : {hardware.use_id, hardware.nouse_id, hardware.use_type,
                                 hardware.nouse_type, std::string("nvidia.com/vgpu-mode")})
    if (pod.annotations.contains(key)) return true;
  return false;
}

bool HasGroups(const Choice& choice) {
  return std::any_of(choice.host.cards.begin(), choice.host.cards.end(), [&](const Card& card) {
    return card.vendor == choice.hardware.key && !card.group.empty();
  });
}

bool KeepsGroups(const Choice& choice) {
  const std::string& key = choice.hardware.key;
  if (key == "Metax-SGPU") return choice.whole && ClassOf(choice.pod).empty();
  return key == "Vastai" || (key.starts_with("Ascend910") && key != "Ascend910C");
}

void CheckTopology(const Choice& choice, Lines& faults) {
  const std::string& key = choice.hardware.key;
  if (choice.cards.size() < 2) return;
  if (key == "AWSNeuron") CheckBlock(choice, faults);
  if (key == "Ascend910C") CheckModules(choice, faults);
  const bool cut_up = std::any_of(choice.host.cards.begin(), choice.host.cards.end(),
                                  [](const Card& card) { return card.mode == "mig"; });
  const std::string policy = At(choice.pod.annotations, "hami.io/gpu-scheduler-policy");
  if (!choice.unlimited) return;
  if (key == "kunlun" || key == "XPU") CheckWings(choice, faults);
  if (key == "NVIDIA" && !cut_up && policy == "topology-aware" &&
      !choice.pod.annotations.contains("nvidia.com/numa-bind"))
    CheckLinks(choice, faults);
  if (HasGroups(choice) && KeepsGroups(choice)) CheckGroups(choice, faults);
}

// The cards that were chosen were there for the pod to take.
void CheckEligible(const Choice& choice, const std::set<std::string>& of_others, Lines& faults) {
  const Hardware& hardware = choice.hardware;
  const StringMap& wish = choice.pod.annotations;
  const std::string policy = At(wish, "hami.io/gpu-scheduler-policy");
  std::set<std::string> ids;
  std::set<int64_t> numa;
  for (const Card* card : choice.cards) {
    if (!card->healthy || card->cordoned) faults.push_back(card->id + ": is out of order");
    if (!ids.insert(card->id).second && card->mode != "mig")
      faults.push_back(card->id + ": twice in a container");
    numa.insert(card->numa);
    if (wish.contains(hardware.use_id) && !Listed(At(wish, hardware.use_id), card->id))
      faults.push_back(card->id + ": is not among those to use");
    if (Listed(At(wish, hardware.nouse_id), card->id))
      faults.push_back(card->id + ": is not to be used");
    if (wish.contains(hardware.use_type) &&
        card->type.find(At(wish, hardware.use_type)) == std::string::npos)
      faults.push_back(card->id + ": is not of a type to use");
    if (wish.contains(hardware.nouse_type) &&
        card->type.find(At(wish, hardware.nouse_type)) != std::string::npos)
      faults.push_back(card->id + ": is of a type not to be used");
    if (hardware.key == "NVIDIA" && wish.contains("nvidia.com/vgpu-mode") &&
        At(wish, "nvidia.com/vgpu-mode").find(card->mode) == std::string::npos)
      faults.push_back(card->id + ": is in another mode");
    if (Listed(policy, "mutex") && of_others.contains(card->id))
      faults.push_back(card->id + ": is in use under mutex");
  }
  if (hardware.key == "NVIDIA" && wish.contains("nvidia.com/numa-bind") && numa.size() > 1)
    faults.push_back("cards of two NUMA nodes");
}

// Mthreads: init and app containers each have one card, or one of them several.
void CheckOneCardPerPod(const Resident& pod, const std::vector<std::vector<Share>>& containers,
                        Lines& faults) {
  for (const bool app : {false, true}) {
    std::set<std::string> ids;
    size_t with_shares = 0;
    for (size_t i = 0; i < containers.size(); ++i) {
      if ((pod.kinds[i] == Kind::kApp) != app || containers[i].empty()) continue;
      ++with_shares;
      for (const Share& share : containers[i]) ids.insert(share.id);
    }
    if (with_shares > 1 && ids.size() > 1) faults.push_back("several cards for one pod");
  }
}

}  // namespace

std::vector<std::string> Faults(const std::vector<Host>& hosts,
                                const std::vector<Resident>& residents, const Quotas& quotas) {
  Lines faults;
  for (const Host& host : hosts) {
    for (const Card& card : host.cards) {
      const Hardware& hardware = AllHardware().at(card.vendor);
      const std::vector<Stay> stays = StaysOn(host, card, residents);
      if (card.vendor == "AWSNeuron") CheckBits(card, stays, faults);
      if (card.vendor == "XPU") CheckOneSize(card, stays, faults);
      if (card.vendor == "Metax-SGPU") CheckCompany(card, stays, faults);
      if (card.vendor == "NVIDIA") CheckGeometry(host, card, residents, faults);
      CheckAmounts(hardware, card, stays, faults);
      CheckExclusive(hardware, card, stays, faults);
    }
    CheckTwins(host, residents, faults);
  }
  CheckQuotas(hosts, residents, quotas, faults);
  return faults;
}

std::vector<std::string> FaultsOfChoice(const Host& host, const std::vector<Resident>& others,
                                        const Resident& chosen, const Quotas& quotas) {
  Lines faults;
  std::vector<Resident> all = others;
  all.push_back(chosen);
  for (const auto& [key, hardware] : AllHardware()) {
    const std::vector<std::vector<Share>> containers = SharesOf(chosen, hardware);
    if (containers.size() > chosen.kinds.size()) faults.push_back(key + ": too many containers");
    std::set<std::string> of_others, twins;
    for (const Card& card : host.cards) {
      if (card.vendor != key) continue;
      if (!StaysOn(host, card, others).empty()) of_others.insert(card.id);
      const Card* twin = TwinOf(host, card);
      if (twin != nullptr && !StaysOn(host, *twin, all).empty()) twins.insert(card.id);
    }
    for (size_t i = 0; i < chosen.kinds.size(); ++i) {
      Choice choice{host, hardware, chosen, i, {}, of_others};
      choice.busy.insert(twins.begin(), twins.end());
      choice.unlimited = !quotas.contains(chosen.ns) && !UsesAnySelector(hardware, chosen) &&
                         !Listed(At(chosen.annotations, "hami.io/gpu-scheduler-policy"), "mutex");
      for (const Share& share : containers[i]) {
        const Card* card = host.Find(key, share.id);
        if (card == nullptr) {
          faults.push_back(share.id + ": there is no such card");
          return faults;
        }
        choice.cards.push_back(card);
        choice.whole = choice.whole && share.cores == kWhole;
      }
      for (size_t j = 0; j < containers.size(); ++j)
        for (const Share& share : containers[j])
          if (j != i) choice.busy.insert(share.id);
      const auto asked = chosen.counts[i].find(key);
      const int64_t count = asked == chosen.counts[i].end() ? 0 : asked->second;
      if (static_cast<int64_t>(choice.cards.size()) != count)
        faults.push_back(key + ": " + std::to_string(choice.cards.size()) + " shares of " +
                         std::to_string(count));
      CheckEligible(choice, of_others, faults);
      CheckTopology(choice, faults);
    }
    if (key == "Mthreads") CheckOneCardPerPod(chosen, containers, faults);
  }
  return faults;
}

}  // namespace aliquot::property
