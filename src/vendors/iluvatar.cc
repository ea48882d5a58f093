// Iluvatar CoreX: one vendor per chip in the configuration, whose name every key
// is made of. Memory in MiB (asked for in units of 256), cores in percent of a
// card; a request without cores reserves none.
#include <algorithm>

#include "vendors/owned_spec.h"
#include "vendors/shared.h"
#include "vendors/vendors.h"

namespace aliquot::vendors {
namespace {

std::optional<core::ContainerRequest> ParseRequest(const core::Vendor& vendor,
                                                   const core::ResourceReader& resources,
                                                   std::optional<core::InvalidRequest>& invalid) {
  std::optional<core::ContainerRequest> request = ParseShare(vendor, resources, invalid);
  // The webhook writes the sum over the cards into the resource.
  if (request && request->count > 1) request->cores = std::min<int64_t>(request->cores, 100);
  return request;
}

// Several cards are whole cards. A container is told its name (spelled like this).
Result<core::Completion> Complete(const core::Vendor& vendor, const core::Submitted& submitted) {
  constexpr std::string_view kNameVariable = "SOL_CONTINER_NAME";
  const core::VendorConfig& config = vendor.config();
  Result<core::Completion> completion = ClaimReadable(vendor, submitted);
  if (!completion || !completion->claimed) return completion;
  const int64_t count = RoundedUp(*FindLimit(submitted, config.count_name));
  if (count > 1) {
    const std::string cores = std::to_string(count * 100);
    completion->limits.emplace(config.cores_name, cores);
    if (Find(*submitted.container.requests, config.cores_name) != nullptr)
      completion->requests.emplace(config.cores_name, cores);
  }
  if (!HasEnv(submitted, kNameVariable) && !submitted.container.name.empty())
    completion->env.push_back({std::string(kNameVariable), std::string(submitted.container.name)});
  return completion;
}

}  // namespace

core::Vendor MakeIluvatar(const NamedConfig& config) {
  const std::string& word = config.common_word;
  auto owned = std::make_shared<OwnedSpec>();
  core::VendorSpec& spec = owned->spec;
  owned->Name(word);
  spec.node_register = owned->Keep("hami.io/node-" + word + "-register");
  spec.lock = core::NodeLock::kShared;
  spec.parse_request = ParseRequest;
  spec.read_node = ReadColonCards;
  spec.gates = kShareGates;
  spec.complete = Complete;
  return MakeVendor(std::move(owned), config.config);
}

}  // namespace aliquot::vendors
