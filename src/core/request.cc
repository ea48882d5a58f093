#include "aliquot/core/request.h"

#include <algorithm>

#include "aliquot/base/quantity.h"
#include "aliquot/base/strings.h"
#include "aliquot/core/vendor.h"

namespace aliquot::core {
namespace {

// A comma list; blank text is no constraint.
SelectorList ParseSelector(const StringMap& annotations, std::string_view key, bool upper_case) {
  SelectorList list;
  const std::string* text = Find(annotations, key);
  if (text == nullptr || Trim(*text).empty()) return list;
  list.given = true;
  for (const std::string_view raw : Split(*text, ',')) {
    const std::string_view member = Trim(raw);
    if (!member.empty()) list.members.push_back(upper_case ? ToUpper(member) : std::string(member));
  }
  return list;
}

CardSelector ParseSelectors(const VendorSpec& spec, const StringMap& annotations) {
  CardSelector selector;
  selector.use_types = ParseSelector(annotations, spec.use_type, true);
  selector.nouse_types = ParseSelector(annotations, spec.nouse_type, true);
  selector.use_ids = ParseSelector(annotations, spec.use_id, false);
  selector.nouse_ids = ParseSelector(annotations, spec.nouse_id, false);
  selector.old_use_ids = ParseSelector(annotations, spec.old_use_id, false);
  selector.old_nouse_ids = ParseSelector(annotations, spec.old_nouse_id, false);
  selector.modes = ParseSelector(annotations, spec.mode, false);
  return selector;
}

bool Names(const SelectorList& list, std::string_view text) {
  return std::find(list.members.begin(), list.members.end(), text) != list.members.end();
}

// A member is part of the text. `text` in upper case.
bool NamesPartOf(const SelectorList& list, std::string_view text) {
  return std::any_of(list.members.begin(), list.members.end(),
                     [&](const std::string& member) { return Contains(text, member); });
}

}  // namespace

bool CardSelector::AllowsType(std::string_view type) const {
  if (!use_types.given && !nouse_types.given) return true;
  const std::string upper = ToUpper(type);
  return (!use_types.given || NamesPartOf(use_types, upper)) &&
         (!nouse_types.given || !NamesPartOf(nouse_types, upper));
}

bool CardSelector::AllowsId(std::string_view id) const {
  return (!use_ids.given || Names(use_ids, id)) && (!nouse_ids.given || !Names(nouse_ids, id)) &&
         (!old_use_ids.given || Names(old_use_ids, id)) &&
         (!old_nouse_ids.given || !Names(old_nouse_ids, id));
}

bool CardSelector::AllowsMode(std::string_view mode) const {
  return !modes.given || mode.empty() || Names(modes, mode);
}

bool PodRequest::empty() const {
  return std::all_of(containers.begin(), containers.end(),
                     [](const ContainerDemand& demand) { return demand.requests.empty(); });
}

bool PodRequest::Asks(VendorId vendor) const {
  for (const ContainerDemand& demand : containers)
    for (const ContainerRequest& request : demand.requests)
      if (request.vendor == vendor) return true;
  return false;
}

std::string InvalidRequest::ToString() const {
  return "InvalidDeviceRequest: container " + container + ": " + resource + "=" + value + ": " +
         why;
}

const std::string* ResourceReader::Find(std::string_view resource) const {
  const std::string* text = nullptr;
  if (container_.limits != nullptr) text = aliquot::Find(*container_.limits, resource);
  if (text == nullptr && !limits_only_ && container_.requests != nullptr)
    text = aliquot::Find(*container_.requests, resource);
  return text;
}

InvalidRequest ResourceReader::Invalid(std::string_view resource, std::string why) const {
  const std::string* text = Find(resource);
  return {std::string(container_.name), std::string(resource), text ? *text : "", std::move(why)};
}

std::optional<int64_t> ResourceReader::Whole(std::string_view resource, int64_t max,
                                             std::optional<InvalidRequest>& invalid) const {
  const std::string* text = Find(resource);
  if (text == nullptr) return std::nullopt;
  const std::optional<Quantity> quantity = Quantity::Parse(*text);
  const std::optional<int64_t> value = quantity ? quantity->AsInt64() : std::nullopt;
  if (value && *value >= 0 && *value <= max) return value;
  if (!invalid) {
    const bool too_large = value ? *value > max : quantity && quantity->Value() > max;
    invalid = Invalid(resource, too_large ? "out of range"
                                : value   ? "negative"
                                          : "not a whole number");
  }
  return std::nullopt;
}

StringMap NotesOf(const StringMap& annotations, const Registry& registry) {
  StringMap notes;
  for (const Vendor& vendor : registry.vendors())
    for (const std::string_view key : vendor.spec().pod_notes)
      if (const std::string* text = aliquot::Find(annotations, key)) notes.emplace(key, *text);
  return notes;
}

std::variant<PodRequest, InvalidRequest> ParseRequests(const PodSpec& pod,
                                                       const Registry& registry) {
  PodRequest request;
  request.pod = *pod.ref;
  for (const ContainerSpec& container : pod.containers) {
    ContainerDemand& demand = request.containers.emplace_back();
    demand.name = container.name;
    demand.kind = container.kind;
    for (const Vendor& vendor : registry.vendors()) {
      const ResourceReader resources(container, vendor.spec().limits_only);
      std::optional<InvalidRequest> invalid;
      std::optional<ContainerRequest> asked =
          vendor.spec().parse_request(vendor, resources, invalid);
      if (invalid) return *std::move(invalid);
      if (!asked) continue;
      asked->vendor = vendor.id();
      demand.requests.push_back(*asked);
    }
  }
  for (const Vendor& vendor : registry.vendors())
    request.selectors.push_back(ParseSelectors(vendor.spec(), *pod.annotations));
  request.notes = NotesOf(*pod.annotations, registry);
  const std::string* numa_bind = aliquot::Find(*pod.annotations, kNumaBindKey);
  request.numa_bind = numa_bind != nullptr && ParseBool(*numa_bind).value_or(false);
  return request;
}

}  // namespace aliquot::core
