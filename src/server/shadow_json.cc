#include "server/shadow_json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "aliquot/base/time_text.h"

namespace aliquot::server {
namespace {

using Json = nlohmann::ordered_json;

Json ChoiceJson(const std::string& node, std::optional<float> score, const std::string& shares) {
  if (node.empty()) return nullptr;
  Json choice = {{"node", node}, {"score", nullptr}, {"shares", shares}};
  if (score) choice["score"] = std::round(static_cast<double>(*score) * 100) / 100;
  return choice;
}

Json DifferenceJson(const scheduler::ShadowDifference& difference) {
  const scheduler::ShadowVerdict& verdict = difference.verdict;
  return {
      {"time", FormatRfc3339(difference.at)},
      {"namespace", difference.pod.ns},
      {"name", difference.pod.name},
      {"uid", difference.pod.uid},
      {"outcome", Word(verdict.outcome)},
      {"reason", verdict.reason},
      {"theirs", ChoiceJson(difference.their_node, verdict.their_score, difference.their_shares)},
      {"ours", ChoiceJson(verdict.node, verdict.score, difference.shares)}};
}

}  // namespace

std::string ShadowJson(const scheduler::Shadow& shadow) {
  Json decisions = Json::object();
  for (size_t i = 0; i < static_cast<size_t>(scheduler::ShadowOutcome::kCount); ++i) {
    const auto outcome = static_cast<scheduler::ShadowOutcome>(i);
    decisions[std::string(Word(outcome))] = shadow.count(outcome);
  }
  Json differences = Json::array();
  for (const scheduler::ShadowDifference& difference : shadow.differences())
    differences.push_back(DifferenceJson(difference));
  const Json all = {{"since", FormatRfc3339(shadow.since())},
                    {"candidates", "all registered nodes"},
                    {"decisions", std::move(decisions)},
                    {"differences", std::move(differences)}};
  // Annotations may hold anything.
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace aliquot::server
