#include "vendors/nvidia_topology.h"

#include <cstdint>
#include <map>
#include <optional>

namespace aliquot::vendors {
namespace {

using core::Device;
using core::Pick;

int64_t PairScore(const Device& from, const Device& to) {
  const auto at = from.pair_scores.find(to.id);
  return at == from.pair_scores.end() ? 0 : at->second;
}

struct Choice {
  std::vector<Pick> picks;
  int64_t score = 0;  // more is better
};

Choice SingleCard(std::span<const Device> devices, std::span<const Pick> candidates) {
  std::optional<Choice> best;
  for (const Pick& pick : candidates) {
    int64_t links = 0;
    for (const Pick& other : candidates)
      if (other.device != pick.device)
        links += PairScore(devices[pick.device], devices[other.device]);
    if (!best || -links > best->score) best = Choice{{pick}, -links};
  }
  return *best;
}

// All sets of `count` candidates in lexicographic order of walk positions.
class BestSet {
 public:
  BestSet(std::span<const Device> devices, std::span<const Pick> candidates, size_t count)
      : candidates_(candidates), count_(count), scores_(candidates.size() * candidates.size()) {
    for (size_t i = 0; i < candidates.size(); ++i)
      for (size_t j = i + 1; j < candidates.size(); ++j)
        scores_[i * candidates.size() + j] =
            PairScore(devices[candidates[i].device], devices[candidates[j].device]);
    Extend(0, 0);
  }

  Choice Take() const {
    Choice choice{{}, best_score_};
    for (const size_t position : best_) choice.picks.push_back(candidates_[position]);
    return choice;
  }

 private:
  void Extend(size_t from, int64_t score) {
    if (set_.size() == count_) {
      if (best_.empty() || score > best_score_) {
        best_ = set_;
        best_score_ = score;
      }
      return;
    }
    for (size_t next = from; next + (count_ - set_.size()) <= candidates_.size(); ++next) {
      int64_t added = 0;
      for (const size_t member : set_) added += scores_[member * candidates_.size() + next];
      set_.push_back(next);
      Extend(next + 1, score + added);
      set_.pop_back();
    }
  }

  std::span<const Pick> candidates_;
  size_t count_;
  std::vector<int64_t> scores_;  // of the pair (earlier, later)
  std::vector<size_t> set_;
  std::vector<size_t> best_;
  int64_t best_score_ = 0;
};

std::optional<Choice> Choose(std::span<const Device> devices, std::span<const Pick> candidates,
                             size_t count) {
  if (candidates.size() < count) return std::nullopt;
  if (count == 1 && candidates.size() > 1) return SingleCard(devices, candidates);
  return BestSet(devices, candidates, count).Take();
}

}  // namespace

bool SelectByLinks(const core::Attempt& attempt, std::vector<Pick>& picks) {
  const std::span<const Device> devices = attempt.cards();
  const auto count = static_cast<size_t>(attempt.request.count);
  std::vector<std::vector<Pick>> groups;
  if (attempt.pod.numa_bind) {
    std::map<int64_t, size_t> group_of;  // numa -> position, groups in walk order
    for (const Pick& pick : picks) {
      const auto [at, added] = group_of.try_emplace(devices[pick.device].numa, groups.size());
      if (added) groups.emplace_back();
      groups[at->second].push_back(pick);
    }
  } else {
    groups.push_back(picks);
  }
  std::optional<Choice> best;
  for (const std::vector<Pick>& group : groups) {
    std::optional<Choice> choice = Choose(devices, group, count);
    if (choice && (!best || choice->score > best->score)) best = std::move(choice);
  }
  if (!best) return false;
  picks = std::move(best->picks);
  return true;
}

}  // namespace aliquot::vendors
