#include "aliquot/core/diagnosis.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "aliquot/base/strings.h"

namespace aliquot::core {
namespace {

constexpr size_t kNamesTold = 10;

std::string NoNode(size_t candidates) {
  return "no available node, " + std::to_string(candidates) + " nodes do not meet";
}

std::string Named(const ScoredNode& scored, std::span<const std::string_view> nodes) {
  char score[64];
  std::snprintf(score, sizeof score, "%.2f", static_cast<double>(scored.score));
  return std::string(nodes[scored.node]) + ":" + score;
}

// The first names, and how many more there are.
std::string NameSome(std::vector<std::string> names, size_t total) {
  if (total > names.size())
    names.push_back("... " + std::to_string(total - names.size()) + " more");
  return Join(names, ",");
}

// The first names in byte order of however many there are.
class FirstNames {
 public:
  void Add(std::string_view name) {
    ++total_;
    if (first_.size() < kNamesTold || name < first_.back()) Insert(name);
  }
  void Add(const FirstNames& other) {
    total_ += other.total_;
    for (const std::string_view name : other.first_) Insert(name);
  }
  size_t total() const { return total_; }
  std::string ToString() const { return NameSome({first_.begin(), first_.end()}, total_); }

 private:
  void Insert(std::string_view name) {
    first_.insert(std::ranges::upper_bound(first_, name), name);
    if (first_.size() > kNamesTold) first_.pop_back();
  }

  std::vector<std::string_view> first_;  // ascending
  size_t total_ = 0;
};

}  // namespace

std::string DescribeFit(const Decision& decision, std::span<const std::string_view> nodes) {
  const std::vector<ScoredNode>& feasible = decision.feasible;
  const size_t told = std::min(kNamesTold, feasible.size());
  std::vector<std::string> names;
  for (auto at = feasible.end() - static_cast<std::ptrdiff_t>(told); at != feasible.end(); ++at)
    names.push_back(Named(*at, nodes));
  return "find fit node(" + std::string(nodes[feasible.back().node]) + "), " +
         std::to_string(nodes.size() - feasible.size()) + " nodes not fit, " +
         std::to_string(feasible.size()) + " nodes fit(" +
         NameSome(std::move(names), feasible.size()) + ")";
}

std::string DescribeRefusals(const Decision& decision, std::span<const std::string_view> nodes) {
  std::vector<FirstNames> by_refusal(decision.refusals.size());
  for (const RefusedNode& refused : decision.refused)
    by_refusal[refused.refusal].Add(nodes[refused.node]);
  std::map<std::string_view, FirstNames> by_word;
  for (size_t i = 0; i < by_refusal.size(); ++i)
    for (const std::string_view word : decision.refusals[i].Words())
      by_word[word].Add(by_refusal[i]);
  std::vector<std::string> parts;
  for (const auto& [word, names] : by_word)
    parts.push_back(std::to_string(names.total()) + " nodes " + std::string(word) + "(" +
                    names.ToString() + ")");
  return NoNode(nodes.size()) + (parts.empty() ? "" : ": ") + Join(parts, "; ");
}

std::string DescribeRefusal(size_t candidates, std::string_view text) {
  return NoNode(candidates) + ": " + std::string(text);
}

}  // namespace aliquot::core
