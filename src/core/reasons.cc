#include "aliquot/core/reasons.h"

#include <algorithm>

#include "aliquot/base/strings.h"

namespace aliquot::core {
namespace {

struct ReasonInfo {
  std::string_view word;
  bool unresolvable;
};

// In the order of the enum.
constexpr std::array<ReasonInfo, static_cast<size_t>(Reason::kCount)> kReasons{{
    {"", false},
    {"AllocatedCardsInsufficientRequest", true},
    {"CardAllocationUnreadable", false},
    {"CardAppClassMismatch", false},
    {"CardComputeUnitsExhausted", false},
    {"CardCordoned", true},
    {"CardInsufficientCore", false},
    {"CardInsufficientMemory", false},
    {"CardMigTopologyInfeasible", false},
    {"CardNotFoundCustomFilterRule", false},
    {"CardNotHealth", true},
    {"CardQosPolicyMismatch", false},
    {"CardTimeSlicingExhausted", false},
    {"CardTypeMismatch", true},
    {"CardUnhealthy", true},
    {"CardUuidMismatch", true},
    {"ExclusiveDeviceAllocateConflict", false},
    {"ModeNotFit", true},
    {"NumaNotFit", false},
    {"NodeInsufficientDevice", true},
    {"NumaNotFit", true},
    {"ResourceQuotaNotFit", false},
}};

}  // namespace

std::string_view Word(Reason reason) { return kReasons[static_cast<size_t>(reason)].word; }

bool IsUnresolvable(Reason reason) { return kReasons[static_cast<size_t>(reason)].unresolvable; }

size_t ReasonCounts::Hash() const {
  uint64_t hash = told_;
  for (const uint32_t count : counts_) hash = hash * 0x9E3779B97F4A7C15U + count;
  return hash;
}

Refusal Refusal::Counted(const ReasonCounts& counts, size_t cards) {
  Refusal refusal;
  refusal.counts_ = counts;
  refusal.cards_ = cards;
  return refusal;
}

Refusal Refusal::Bare(Reason reason) {
  return Text(std::string(Word(reason)), IsUnresolvable(reason));
}

Refusal Refusal::Text(std::string text, bool unresolvable) {
  Refusal refusal;
  refusal.text_ = std::move(text);
  refusal.text_unresolvable_ = unresolvable;
  return refusal;
}

std::string Refusal::ToString() const {
  if (!text_.empty()) return text_;
  std::vector<std::string> items;
  for (size_t i = 1; i < kReasons.size(); ++i) {
    const auto reason = static_cast<Reason>(i);
    if (!counts_.told(reason)) continue;
    items.push_back(std::to_string(counts_[reason]) + "/" + std::to_string(cards_) + " " +
                    std::string(kReasons[i].word));
  }
  std::sort(items.begin(), items.end());  // as texts: "10/12 ..." before "2/12 ..."
  return Join(items, ", ");
}

bool Refusal::unresolvable() const {
  if (!text_.empty()) return text_unresolvable_;
  for (size_t i = 1; i < kReasons.size(); ++i)
    if (counts_.told(static_cast<Reason>(i)) && !kReasons[i].unresolvable) return false;
  return true;
}

size_t Refusal::Hash() const { return StringHash()(text_) ^ (counts_.Hash() + cards_); }

std::vector<std::string_view> Refusal::Words() const {
  if (!text_.empty()) return {text_};
  std::vector<std::string_view> words;
  for (size_t i = 1; i < kReasons.size(); ++i)
    if (counts_.told(static_cast<Reason>(i))) words.push_back(kReasons[i].word);
  return words;
}

}  // namespace aliquot::core
