#include "cli/demo_words.h"

#include <algorithm>
#include <vector>

#include "aliquot/base/strings.h"
#include "aliquot/core/policy.h"
#include "aliquot/core/reasons.h"
#include "aliquot/core/request.h"
#include "aliquot/scheduler/assignment.h"
#include "cli/card_units.h"

namespace aliquot::cli {
namespace {

using core::Reason;

constexpr std::string_view kEnflame = "Enflame";
constexpr std::string_view kNvidia = "NVIDIA";

std::string Prefix(core::ContainerKind kind) {
  switch (kind) {
    case core::ContainerKind::kInit:
      return "init: ";
    case core::ContainerKind::kSidecar:
      return "sidecar: ";
    case core::ContainerKind::kApp:
      break;
  }
  return "";
}

// "20% cores", "8 cores", "1 core"
std::string CoresInWords(int64_t cores, std::string_view unit) {
  if (unit == kPercent) return std::to_string(cores) + "% cores";
  if (cores == 1 && unit.ends_with('s')) unit.remove_suffix(1);
  return std::to_string(cores) + " " + std::string(unit);
}

// Enflame's requests say in memory_percent what their memory is.
std::string MemoryOfSlice(const core::ContainerRequest& request) {
  constexpr int64_t kMostGb = 1000;  // more cannot be meant
  if (request.memory_percent == 0)
    return std::to_string(request.memory) + (request.memory == 1 ? " slice" : " slices");
  if (request.memory_percent == -1 && request.memory < kMostGb)
    return std::to_string(request.memory) + " GB";
  return std::to_string(request.memory) + " MiB";
}

std::vector<std::string> AmountsOfSlice(const core::ContainerRequest& request) {
  std::vector<std::string> amounts;
  if (request.memory > 0) amounts.push_back(MemoryOfSlice(request));
  if (request.cores > 0) amounts.push_back(CoresInWords(request.cores, kPercent));
  return amounts;
}

// Of each card; empty: all of it.
std::vector<std::string> AmountsOf(const core::ContainerRequest& request,
                                   const core::Vendor& vendor) {
  if (vendor.key() == kEnflame) return AmountsOfSlice(request);
  const std::string_view unit = UnitOfAskedCores(vendor);
  const bool all_memory =
      !AsksForMemory(vendor) || (request.memory <= 0 && request.memory_percent >= 100);
  const bool all_cores = request.cores == 0 || (unit == kPercent && request.cores >= 100);
  std::vector<std::string> amounts;
  if (all_memory && all_cores) return amounts;
  if (!all_memory)
    amounts.push_back(request.memory > 0
                          ? std::to_string(request.memory) + " MiB"
                          : std::to_string(request.memory_percent) + "% of the memory");
  else if (AsksForMemory(vendor))
    amounts.push_back("all memory");
  if (request.cores > 0) amounts.push_back(CoresInWords(request.cores, unit));
  return amounts;
}

// "1 whole card", "2 cards with 50% of the memory and 20% cores each"
std::string InWords(const core::ContainerRequest& request, const core::Registry& registry) {
  const core::Vendor& vendor = registry[request.vendor];
  const std::vector<std::string> amounts = AmountsOf(request, vendor);
  std::string text = std::to_string(request.count) + (amounts.empty() ? " whole" : "");
  if (vendor.key() != kNvidia) text += " " + std::string(vendor.key());
  text += request.count == 1 ? " card" : " cards";
  if (!amounts.empty()) text += " with " + Join(amounts, " and ");
  if (!amounts.empty() && request.count > 1) text += " each";
  return text;
}

void AddSelector(std::string_view label, const core::SelectorList& list, std::string& text) {
  if (!list.members.empty()) text += ", " + std::string(label) + " " + Join(list.members, " or ");
}

constexpr std::string_view PhraseOf(Reason reason) {
  switch (reason) {
    case Reason::kAllocatedCardsInsufficientRequest:
      return "free, but too few";
    case Reason::kCardAllocationUnreadable:
      return "another pod's allocation cannot be read";
    case Reason::kCardAppClassMismatch:
      return "used by pods of another class";
    case Reason::kCardComputeUnitsExhausted:
      return "all cores are promised away";
    case Reason::kCardCordoned:
      return "taken out of service";
    case Reason::kCardInsufficientCore:
      return "not enough free cores";
    case Reason::kCardInsufficientMemory:
      return "not enough free memory";
    case Reason::kCardMigTopologyInfeasible:
      return "no place for such an instance";
    case Reason::kCardNotFoundCustomFilterRule:
      return "not the card of the pod's other containers";
    case Reason::kCardNotHealth:
    case Reason::kCardUnhealthy:
      return "not healthy";
    case Reason::kCardQosPolicyMismatch:
      return "another quality of service";
    case Reason::kCardTimeSlicingExhausted:
      return "no free share";
    case Reason::kCardTypeMismatch:
      return "not the type that the pod wants";
    case Reason::kCardUuidMismatch:
      return "not a card that the pod names";
    case Reason::kExclusiveDeviceAllocateConflict:
      return "in use, and the pod wants it for itself";
    case Reason::kModeNotFit:
      return "not how the node splits its cards";
    case Reason::kNoBlock:
      return "no block of neighbouring idle cards";
    case Reason::kNodeInsufficientDevice:
      return "fewer cards than a container asks for";
    case Reason::kNumaNotFit:
      return "too few on one NUMA node";
    case Reason::kResourceQuotaNotFit:
      return "more than the namespace's quota allows";
    case Reason::kNone:
    case Reason::kCount:
      break;
  }
  return "";
}

// Of the first reason with this word; empty: there is none.
std::string_view PhraseOf(std::string_view word) {
  for (size_t i = 1; i < static_cast<size_t>(Reason::kCount); ++i)
    if (core::Word(static_cast<Reason>(i)) == word) return PhraseOf(static_cast<Reason>(i));
  return "";
}

// It is said of the node, whatever the count.
bool IsOfNode(std::string_view word) {
  return word == core::Word(Reason::kModeNotFit) || word == core::Word(Reason::kNoBlock);
}

// "3/4 CardInsufficientMemory"; empty: not of this form.
std::string CountedInWords(std::string_view item) {
  const size_t slash = item.find('/'), blank = item.find(' ');
  if (slash == item.npos || blank == item.npos || slash > blank) return "";
  const auto count = ParseInt64(item.substr(0, slash));
  const auto cards = ParseInt64(item.substr(slash + 1, blank - slash - 1));
  const std::string_view word = item.substr(blank + 1);
  const std::string_view phrase = PhraseOf(word);
  if (!count || !cards || phrase.empty()) return "";
  if (IsOfNode(word)) return std::string(phrase);
  std::string which = "its card";
  if (*cards != 1)
    which = (*count == *cards ? "all" : std::to_string(*count) + " of") +
            (" " + std::to_string(*cards)) + " cards";
  return which + ": " + std::string(phrase);
}

// What a share is of its card; null: unknown. Empty: nothing but the card is counted.
std::string InWords(const core::Share& share, const core::Device* card,
                    const core::Vendor& vendor) {
  if (card == nullptr) return std::to_string(share.memory) + " MiB";
  std::vector<std::string> amounts;
  if (const auto memory = MemoryOf(vendor, *card, share.memory)) {
    std::string text = memory->used == memory->total ? "all " : "";
    text += std::to_string(memory->used) + " MiB";
    if (const auto part = PartOf(vendor, *card, share.memory); !part.empty())
      text += " (" + std::string(part) + ")";
    amounts.push_back(std::move(text));
  }
  if (const auto cores = CoresOf(vendor, *card, share.cores); cores && cores->used > 0)
    amounts.push_back(cores->unit == kPercent ? CoresInWords(cores->used, cores->unit)
                                              : std::to_string(cores->used) + " of " +
                                                    CoresInWords(cores->total, cores->unit));
  return Join(amounts, ", ");
}

// Shares of different cards, one after the other, that are alike.
struct Alike {
  std::vector<std::string> cards;
  std::string amounts;
};

// "card 3: 8000 MiB; cards 2, 1: all 40960 MiB each"
std::string InWords(const std::vector<core::Share>& shares, const core::NodeUsage* node,
                    const core::Vendor& vendor) {
  std::vector<Alike> groups;
  for (const core::Share& share : shares) {
    const int at = node == nullptr ? -1 : node->FindDevice(vendor.id(), share.device_id);
    const core::Device* card = at < 0 ? nullptr : &node->devices()[static_cast<size_t>(at)];
    std::string amounts = InWords(share, card, vendor);
    std::string name = card == nullptr ? share.device_id : std::to_string(card->index);
    if (groups.empty() || groups.back().amounts != amounts || groups.back().cards.back() == name)
      groups.push_back({{}, std::move(amounts)});
    groups.back().cards.push_back(std::move(name));
  }
  std::vector<std::string> parts;
  for (const Alike& group : groups) {
    std::string part = (group.cards.size() == 1 ? "card " : "cards ") + Join(group.cards, ", ");
    if (!group.amounts.empty()) part += ": " + group.amounts;
    if (!group.amounts.empty() && group.cards.size() > 1) part += " each";
    parts.push_back(std::move(part));
  }
  return Join(parts, "; ");
}

}  // namespace

std::string NameOf(const kube::Pod& pod) {
  return pod.meta.ns == "default" ? pod.meta.name : Display(pod.meta.Ref());
}

std::string WishInWords(const kube::Pod& pod, const core::Registry& registry) {
  const ObjectRef ref = pod.meta.Ref();
  const auto parsed = core::ParseRequests(scheduler::SpecOf(pod, ref), registry);
  if (const auto* invalid = std::get_if<core::InvalidRequest>(&parsed))
    return invalid->resource + ": " + invalid->value;
  const auto& request = std::get<core::PodRequest>(parsed);
  std::vector<std::string> parts;
  for (const core::ContainerDemand& container : request.containers)
    for (const core::ContainerRequest& wish : container.requests)
      parts.push_back(Prefix(container.kind) + InWords(wish, registry));
  if (parts.empty()) return "no card";

  std::string text = Join(parts, " + ");
  for (const core::CardSelector& selector : request.selectors) {
    AddSelector("only", selector.use_types, text);
    AddSelector("not", selector.nouse_types, text);
    AddSelector("only", selector.use_ids, text);
    AddSelector("not", selector.nouse_ids, text);
    AddSelector("mode", selector.modes, text);
  }
  if (request.numa_bind) text += ", one NUMA node";
  if (const auto* policy = Find(pod.meta.annotations, core::kNodePolicyKey))
    text += ", nodes " + *policy;
  if (const auto* policy = Find(pod.meta.annotations, core::kCardPolicyKey))
    text += ", cards " + *policy;
  return text;
}

std::string SharesInWords(const kube::Pod& pod, const core::NodeUsage* node,
                          const core::Registry& registry) {
  const auto written = scheduler::HoldingOf(pod, pod.node_name, registry);
  std::vector<std::string> parts = written.problems;
  for (const core::VendorAllocation& held : written.holding.allocation) {
    for (size_t i = 0; i < held.containers.size(); ++i) {
      if (held.containers[i].empty()) continue;
      const auto& kinds = written.holding.kinds;
      parts.push_back((i < kinds.size() ? Prefix(kinds[i]) : "") +
                      InWords(held.containers[i], node, registry[held.vendor]));
    }
  }
  return Join(parts, "; ");
}

int Nearness(std::string_view refusal) {
  if (refusal.starts_with("node unregistered")) return 0;
  if (refusal == core::Word(Reason::kNodeInsufficientDevice)) return 1;
  const std::vector<std::string_view> items = Split(refusal, ',');
  const bool unwanted = std::all_of(items.begin(), items.end(), [](std::string_view item) {
    return item.ends_with(core::Word(Reason::kCardTypeMismatch)) ||
           item.ends_with(core::Word(Reason::kCardUuidMismatch));
  });
  return unwanted ? 2 : 3;
}

std::string RefusalInWords(std::string_view refusal) {
  constexpr std::string_view kInvalid = "InvalidDeviceRequest: ";
  if (refusal.starts_with(kInvalid))
    return "cannot be read: " + std::string(refusal.substr(kInvalid.size()));
  if (refusal == "node unregistered") return "has no cards that anybody registered";
  if (const std::string_view phrase = PhraseOf(refusal); !phrase.empty())
    return std::string(phrase);
  std::vector<std::string> items;
  for (const std::string_view item : Split(refusal, ',')) {
    std::string words = CountedInWords(Trim(item));
    if (words.empty()) return std::string(refusal);
    items.push_back(std::move(words));
  }
  return Join(items, "; ");
}

}  // namespace aliquot::cli
