// Verdicts: what nodes said to one shape of pod, kept while they stay as they are.
// The pods of a workload ask the same question again and again, and between two
// decisions few nodes change: only those are asked anew. The answers are the same
// with and without.
//
// A verdict carries the stamp of the usage that it is about (NodeUsage::stamp), so
// none ever has to be withdrawn.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "aliquot/core/policy.h"
#include "aliquot/core/reasons.h"
#include "aliquot/core/request.h"

namespace aliquot::core {

struct Verdict {
  static constexpr uint32_t kFits = UINT32_MAX;

  uint64_t stamp = 0;        // of the usage; 0: none yet
  float score = 0;           // of a node that fits
  uint32_t refusal = kFits;  // otherwise the refusal's number
};

// The verdicts on one shape of pod, by slot (CandidateNode::slot).
class Verdicts {
 public:
  // Valid until a higher slot is asked for.
  Verdict& operator[](size_t slot) {
    if (slot >= by_slot_.size()) by_slot_.resize(slot + 1);
    return by_slot_[slot];
  }

  // Equal refusals have one number, from 0 on.
  uint32_t NumberOf(const Refusal& refusal);
  const Refusal& refusal(uint32_t number) const { return refusals_[number]; }
  size_t refusals() const { return refusals_.size(); }

 private:
  struct Hash {
    size_t operator()(const Refusal& refusal) const { return refusal.Hash(); }
  };

  std::vector<Verdict> by_slot_;
  std::vector<Refusal> refusals_;
  std::unordered_map<Refusal, uint32_t, Hash> numbers_;
};

// The verdicts on the shapes that were asked for last. Bounded: kShapes tables of one
// Verdict a slot each.
class VerdictMemo {
 public:
  static constexpr size_t kShapes = 32;

  // Of pods that ask the same of every node. Valid until the next call.
  Verdicts& Of(const PodRequest& pod, const SchedulePolicy& policy);

 private:
  struct Shape {
    PodRequest pod;
    SchedulePolicy policy;
    Verdicts verdicts;
  };
  std::vector<std::unique_ptr<Shape>> shapes_;  // the latest first
};

}  // namespace aliquot::core
