#include "cli/demo_words.h"

#include <vector>

#include "aliquot/base/strings.h"
#include "aliquot/core/policy.h"
#include "aliquot/core/reasons.h"
#include "aliquot/core/request.h"
#include "aliquot/scheduler/assignment.h"

namespace aliquot::cli {
namespace {

using core::Reason;

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

// "1 whole card", "2 cards with 50% of the memory and 20% cores each"
std::string InWords(const core::ContainerRequest& request, const core::Registry& registry) {
  std::vector<std::string> amounts;
  if (request.memory > 0)
    amounts.push_back(std::to_string(request.memory) + " MiB");
  else if (request.memory_percent < 100)
    amounts.push_back(std::to_string(request.memory_percent) + "% of the memory");
  else if (request.cores > 0)
    amounts.push_back("all memory");
  if (request.cores > 0) amounts.push_back(std::to_string(request.cores) + "% cores");

  std::string text = std::to_string(request.count) + (amounts.empty() ? " whole" : "");
  const std::string_view vendor = registry[request.vendor].key();
  if (vendor != kNvidia) text += " " + std::string(vendor);
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
      return "too few of the cards have room";
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
      return "ruled out by the vendor's own rule";
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
      return "another sharing mode";
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

// "3/4 CardInsufficientMemory"; empty: not of this form.
std::string CountedInWords(std::string_view item) {
  const size_t slash = item.find('/'), blank = item.find(' ');
  if (slash == item.npos || blank == item.npos || slash > blank) return "";
  const auto count = ParseInt64(item.substr(0, slash));
  const auto cards = ParseInt64(item.substr(slash + 1, blank - slash - 1));
  const std::string_view phrase = PhraseOf(item.substr(blank + 1));
  if (!count || !cards || phrase.empty()) return "";
  std::string which = "its card";
  if (*cards != 1)
    which = (*count == *cards ? "all" : std::to_string(*count) + " of") +
            (" " + std::to_string(*cards)) + " cards";
  return which + ": " + std::string(phrase);
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
      const auto& kinds = written.holding.kinds;
      const std::string prefix = i < kinds.size() ? Prefix(kinds[i]) : "";
      for (const core::Share& share : held.containers[i]) {
        const int at = node == nullptr ? -1 : node->FindDevice(held.vendor, share.device_id);
        const core::Device* card = at < 0 ? nullptr : &node->devices()[static_cast<size_t>(at)];
        std::string part = prefix + "card ";
        part += card == nullptr ? share.device_id : std::to_string(card->index);
        part += card != nullptr && card->memory == share.memory ? ": all " : ": ";
        part += std::to_string(share.memory) + " MiB";
        if (share.cores > 0) part += ", " + std::to_string(share.cores) + "% cores";
        parts.push_back(std::move(part));
      }
    }
  }
  return Join(parts, "; ");
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
