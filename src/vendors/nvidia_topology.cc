#include "vendors/nvidia_topology.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

namespace aliquot::vendors {
namespace {

using core::Device;
using core::Pick;

// Sums over all pairs of a node stay far within 64 bits, whatever was registered.
constexpr int64_t kMostPairScore = int64_t{1} << 40;

// Every set is looked at while all of them together have no more pairs (in both directions)
// than this. Among 16 cards 9 have the most: 11,440 sets of 81.
constexpr int64_t kMostPairs = 1'000'000;
// Beyond that sets are grown, in about so many steps: from each card for 100 of 200.
constexpr size_t kMostSteps = 4'000'000;

struct Choice {
  std::vector<Pick> picks;
  int64_t score = 0;  // more is better
};

// Calls `visit(i, j, score)` for each candidate i and each other one j that i has a score to.
template <typename Visit>
void ForEachScore(std::span<const Device> devices, std::span<const Pick> candidates, Visit visit) {
  std::multimap<std::string_view, size_t> by_id;
  for (size_t i = 0; i < candidates.size(); ++i) by_id.emplace(devices[candidates[i].device].id, i);
  for (size_t i = 0; i < candidates.size(); ++i)
    for (const auto& [id, score] : devices[candidates[i].device].pair_scores) {
      const auto [begin, end] = by_id.equal_range(id);
      for (auto at = begin; at != end; ++at)
        if (at->second != i)
          visit(i, at->second, std::clamp(score, -kMostPairScore, kMostPairScore));
    }
}

Choice SingleCard(std::span<const Device> devices, std::span<const Pick> candidates) {
  std::vector<int64_t> links(candidates.size());
  ForEachScore(devices, candidates, [&](size_t i, size_t, int64_t score) { links[i] += score; });
  const auto least = std::min_element(links.begin(), links.end());
  return {{candidates[static_cast<size_t>(least - links.begin())]}, -*least};
}

// There are few enough sets of `count` cards among `all` to look at each.
bool AreFewSets(int64_t all, int64_t count) {
  const int64_t most = kMostPairs / (count * count);
  int64_t sets = 1;
  for (int64_t i = 1; i <= std::min(count, all - count) && sets <= most; ++i)
    sets = sets * (all - i + 1) / i;  // those of i cards
  return sets <= most;
}

// The set of `count` candidates with the best links; of equal ones the first in
// lexicographic order of walk positions. Among too many cards to look at every set, the
// best of those that are grown from one card by adding, each time, the card with the best
// links to those already there.
class BestSet {
 public:
  BestSet(std::span<const Device> devices, std::span<const Pick> candidates, size_t count)
      : candidates_(candidates), count_(count), scores_(candidates.size() * candidates.size()) {
    const size_t all = candidates.size();
    ForEachScore(devices, candidates, [&](size_t i, size_t j, int64_t score) {
      if (i < j) scores_[i * all + j] = scores_[j * all + i] = score;
    });
    if (AreFewSets(static_cast<int64_t>(all), static_cast<int64_t>(count)))
      Extend(0, 0);
    else
      GrowFromEach();
  }

  Choice Take() const {
    Choice choice{{}, best_score_};
    for (const size_t position : best_) choice.picks.push_back(candidates_[position]);
    return choice;
  }

 private:
  // Of each candidate to the one at `position`.
  std::span<const int64_t> ScoresOf(size_t position) const {
    return std::span(scores_).subspan(position * candidates_.size(), candidates_.size());
  }

  void Extend(size_t from, int64_t score) {
    if (set_.size() == count_) return Keep(score);
    for (size_t next = from; next + (count_ - set_.size()) <= candidates_.size(); ++next) {
      int64_t added = 0;
      for (const size_t member : set_) added += ScoresOf(member)[next];
      set_.push_back(next);
      Extend(next + 1, score + added);
      set_.pop_back();
    }
  }

  void GrowFromEach() {
    const size_t steps = candidates_.size() * count_;  // of one set
    const size_t sets = std::clamp<size_t>(kMostSteps / steps, 1, candidates_.size());
    for (size_t first = 0; first < sets; ++first) Grow(first);
  }

  void Grow(size_t first) {
    std::vector<int64_t> links(candidates_.size());  // to the set
    std::vector<char> taken(candidates_.size());
    int64_t score = 0;
    set_.clear();
    for (size_t next = first; set_.size() < count_; next = BestLinked(links, taken)) {
      score += links[next];
      set_.push_back(next);
      taken[next] = 1;
      const std::span<const int64_t> added = ScoresOf(next);
      for (size_t i = 0; i < links.size(); ++i) links[i] += added[i];
    }
    std::sort(set_.begin(), set_.end());
    Keep(score);
  }

  // Of those that are not taken; the first of equal ones.
  static size_t BestLinked(const std::vector<int64_t>& links, const std::vector<char>& taken) {
    size_t best = 0;
    for (size_t i = 1; i < links.size(); ++i)
      if (taken[i] == 0 && (taken[best] != 0 || links[i] > links[best])) best = i;
    return best;
  }

  void Keep(int64_t score) {
    if (!best_.empty() && score <= best_score_) return;
    best_ = set_;
    best_score_ = score;
  }

  std::span<const Pick> candidates_;
  size_t count_;
  std::vector<int64_t> scores_;  // of the pair (earlier, later), at both places
  std::vector<size_t> set_;      // ascending when it is kept
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
