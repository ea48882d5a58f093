// What pods say of how they are placed: policies and weights.
#include "aliquot/core/policy.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aliquot;
  const std::string text = fuzz::Text(data, size);
  const core::CardPolicy policy = core::ParseCardPolicy(text);
  if (!core::IsCardPolicy(text))
    fuzz::Require(policy == core::ParseCardPolicy(text.find(',') == text.npos ? "spread" : ","),
                  "what names no policy is spread, as a word or as a list");
  if (const auto weights = core::ParseScoringWeights(text); !weights)
    fuzz::RequireMessage(weights.error());
  const StringMap annotations = {{std::string(core::kNodePolicyKey), text},
                                 {std::string(core::kCardPolicyKey), text}};
  fuzz::Require(core::ResolvePolicy(annotations, {}).ok(), "unknown policies are passed over");
  return 0;
}
