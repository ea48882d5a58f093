#include "aliquot/core/policy.h"

#include <algorithm>
#include <array>
#include <optional>

#include "aliquot/base/strings.h"

namespace aliquot::core {
namespace {

constexpr std::array<std::string_view, 5> kCardWords{"binpack", "spread", "numa", "mutex",
                                                     "topology-aware"};

std::optional<CardPolicy::Key> ChainKey(std::string_view word) {
  if (word == "binpack") return CardPolicy::Key::kBinpack;
  if (word == "spread") return CardPolicy::Key::kSpread;
  if (word == "numa") return CardPolicy::Key::kNuma;
  return std::nullopt;
}

Error WeightsError(std::string_view text, const std::string& problem) {
  return InvalidError("invalid " + std::string(kScoringWeightsKey) + " annotation \"" +
                      std::string(text) + "\": " + problem);
}

std::string Unknown(std::string_view key, std::string_view value) {
  return "unknown " + std::string(key) + " \"" + std::string(value) + "\"";
}

// The annotation if it names a policy, else the default of the flag.
std::string_view PolicyText(const StringMap& annotations, std::string_view key,
                            std::string_view flag, bool (*known)(std::string_view),
                            std::vector<std::string>& unknown) {
  const std::string* text = Find(annotations, key);
  if (text == nullptr || text->empty()) return flag;
  if (known(*text)) return *text;
  unknown.push_back(Unknown(key, *text));
  return flag;
}

}  // namespace

bool IsNodePolicy(std::string_view text) { return text == "binpack" || text == "spread"; }

bool IsCardPolicy(std::string_view text) {
  for (const std::string_view word : Split(text, ','))
    if (std::find(kCardWords.begin(), kCardWords.end(), Trim(word)) != kCardWords.end())
      return true;
  return false;
}

CardPolicy ParseCardPolicy(std::string_view text) {
  CardPolicy policy;
  const std::vector<std::string_view> words = Split(text, ',');
  for (const std::string_view raw : words) {
    const std::string_view word = Trim(raw);
    if (word == "mutex") policy.mutex = true;
    if (word == "topology-aware") policy.topology_aware = true;
    const auto key = ChainKey(word);
    if (key && std::find(policy.chain.begin(), policy.chain.end(), *key) == policy.chain.end())
      policy.chain.push_back(*key);
  }
  if (words.size() > 1 || Trim(text) == "numa") {
    policy.order = CardPolicy::Order::kChain;
    if (policy.chain.empty()) policy.chain.push_back(CardPolicy::Key::kSpread);
    return policy;
  }
  policy.chain.clear();
  const std::string_view word = Trim(text);
  if (word == "binpack") policy.order = CardPolicy::Order::kBinpack;
  if (word == "mutex") policy.order = CardPolicy::Order::kMutex;
  return policy;
}

Result<ScoringWeights> ParseScoringWeights(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, ',');
  if (parts.size() != 3) return WeightsError(text, "expected slot, core, and memory weights");
  ScoringWeights weights;
  std::vector<std::string_view> seen;
  for (const std::string_view part : parts) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) return WeightsError(text, "expected key=value entries");
    const std::string_view key = Trim(part.substr(0, equals));
    const std::string quoted = "\"" + std::string(key) + "\"";
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      return WeightsError(text, "duplicate " + quoted + " weight");
    seen.push_back(key);
    const std::optional<int64_t> value = ParseInt64(Trim(part.substr(equals + 1)));
    if (!value) return WeightsError(text, quoted + " weight must be an integer");
    if (*value < 0) return WeightsError(text, quoted + " weight must not be negative");
    if (key == "slot")
      weights.slot = *value;
    else if (key == "core")
      weights.core = *value;
    else if (key == "memory")
      weights.memory = *value;
    else
      return WeightsError(text, "unknown weight " + quoted);
  }
  if (weights == ScoringWeights{0, 0, 0})
    return WeightsError(text, "at least one weight must be positive");
  return weights;
}

Result<SchedulePolicy> ResolvePolicy(const StringMap& annotations, const PolicyDefaults& defaults) {
  SchedulePolicy policy;
  policy.spread_nodes = PolicyText(annotations, kNodePolicyKey, defaults.node, IsNodePolicy,
                                   policy.unknown) == "spread";
  policy.cards = ParseCardPolicy(
      PolicyText(annotations, kCardPolicyKey, defaults.card, IsCardPolicy, policy.unknown));
  if (const std::string* text = Find(annotations, kScoringWeightsKey)) {
    Result<ScoringWeights> weights = ParseScoringWeights(*text);
    if (!weights) return weights.error();
    policy.weights = *weights;
  }
  return policy;
}

}  // namespace aliquot::core
