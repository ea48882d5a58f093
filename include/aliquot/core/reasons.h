// Why a node is refused: the words that users, events and dashboards know, and
// their aggregation to "<count>/<cards> <word>, ...".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace aliquot::core {

enum class Reason : uint8_t {
  kNone,  // no objection
  kAllocatedCardsInsufficientRequest,
  kCardAllocationUnreadable,
  kCardAppClassMismatch,
  kCardComputeUnitsExhausted,
  kCardCordoned,
  kCardInsufficientCore,
  kCardInsufficientMemory,
  kCardMigTopologyInfeasible,
  kCardNotFoundCustomFilterRule,
  kCardNotHealth,
  kCardQosPolicyMismatch,
  kCardTimeSlicingExhausted,
  kCardTypeMismatch,
  kCardUnhealthy,
  kCardUuidMismatch,
  kExclusiveDeviceAllocateConflict,
  kModeNotFit,
  kNoBlock,  // of neighbouring idle cards; written as NumaNotFit, but they may be in use
  kNodeInsufficientDevice,
  kNumaNotFit,
  kResourceQuotaNotFit,
  kCount,
};

// The refusal of a node without any card that is known.
inline constexpr std::string_view kNodeUnregistered = "node unregistered";

// As it stands in answers and events, e.g. "CardInsufficientMemory".
std::string_view Word(Reason reason);

// Removing pods from the node cannot change it, so preemption is pointless.
bool IsUnresolvable(Reason reason);

// How often each reason came up among a number of cards.
class ReasonCounts {
 public:
  void Add(Reason reason, uint32_t times = 1) {
    if (times != 0) Set(reason, counts_[static_cast<size_t>(reason)] + times);
  }
  // Told even if it is 0 times.
  void Set(Reason reason, uint32_t times) {
    counts_[static_cast<size_t>(reason)] = times;
    told_ |= 1U << static_cast<size_t>(reason);
  }
  uint32_t operator[](Reason reason) const { return counts_[static_cast<size_t>(reason)]; }
  bool told(Reason reason) const { return (told_ >> static_cast<size_t>(reason)) & 1U; }

  size_t Hash() const;

  bool operator==(const ReasonCounts&) const = default;

 private:
  static_assert(static_cast<size_t>(Reason::kCount) <= 32);
  std::array<uint32_t, static_cast<size_t>(Reason::kCount)> counts_{};
  uint32_t told_ = 0;
};

// The refusal of one node: counted words, or one text.
class Refusal {
 public:
  // Counted among `cards`, e.g. "10/12 CardInsufficientMemory, 2/12 CardUuidMismatch".
  static Refusal Counted(const ReasonCounts& counts, size_t cards);
  // A word without a count: "NodeInsufficientDevice".
  static Refusal Bare(Reason reason);
  static Refusal Text(std::string text, bool unresolvable);

  std::string ToString() const;
  bool unresolvable() const;

  // The words it consists of; a bare word or text is its own only word. For
  // the event that groups nodes by word.
  std::vector<std::string_view> Words() const;

  size_t Hash() const;

  bool operator==(const Refusal&) const = default;

 private:
  std::string text_;  // of a bare word or a text
  bool text_unresolvable_ = false;
  ReasonCounts counts_;
  size_t cards_ = 0;
};

}  // namespace aliquot::core
