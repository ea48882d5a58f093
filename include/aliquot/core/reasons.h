// Why a node is refused: the words that users, events and dashboards know, and
// their aggregation to "<count>/<cards> <word>, ...".
#pragma once

#include <array>
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
  kCardComputeUnitsExhausted,
  kCardCordoned,
  kCardInsufficientCore,
  kCardInsufficientMemory,
  kCardMigTopologyInfeasible,
  kCardNotFoundCustomFilterRule,
  kCardNotHealth,
  kCardTimeSlicingExhausted,
  kCardTypeMismatch,
  kCardUuidMismatch,
  kExclusiveDeviceAllocateConflict,
  kModeNotFit,
  kNodeInsufficientDevice,
  kNumaNotFit,
  kResourceQuotaNotFit,
  kCount,
};

// As it stands in answers and events, e.g. "CardInsufficientMemory".
std::string_view Word(Reason reason);

// Removing pods from the node cannot change it, so preemption is pointless.
bool IsUnresolvable(Reason reason);

// How often each reason came up among a number of cards.
class ReasonCounts {
 public:
  void Add(Reason reason, uint32_t times = 1) { counts_[static_cast<size_t>(reason)] += times; }
  void Set(Reason reason, uint32_t times) { counts_[static_cast<size_t>(reason)] = times; }
  uint32_t operator[](Reason reason) const { return counts_[static_cast<size_t>(reason)]; }

  bool operator==(const ReasonCounts&) const = default;

 private:
  std::array<uint32_t, static_cast<size_t>(Reason::kCount)> counts_{};
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

  bool operator==(const Refusal&) const = default;

 private:
  std::string text_;  // of a bare word or a text
  bool text_unresolvable_ = false;
  ReasonCounts counts_;
  size_t cards_ = 0;
};

}  // namespace aliquot::core
