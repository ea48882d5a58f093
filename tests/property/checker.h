// What must hold whatever happens, judged from texts alone: from what hosts offer
// and from the annotations of the pods that are there. Shares no arithmetic with
// the product.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "property/hardware.h"

namespace aliquot::property {

enum class Kind { kInit, kSidecar, kApp };

// A pod that was given something, as the API server has it.
struct Resident {
  std::string uid;
  std::string ns;
  std::string host;
  std::vector<Kind> kinds;  // of its containers, init containers first
  bool init_done = false;   // all its ordinary init containers have succeeded
  StringMap annotations;
  std::vector<std::map<std::string, int64_t>> counts;  // per container: vendor -> shares asked for
};

// namespace -> resource -> limit, in units of the resource
using Quotas = std::map<std::string, std::map<std::string, int64_t>>;

// Each fault as a line of text; none: all is well.

// Of the cluster as it stands.
std::vector<std::string> Faults(const std::vector<Host>& hosts,
                                const std::vector<Resident>& residents, const Quotas& quotas);

// Of the choice that was just made for one pod, given those that were there.
std::vector<std::string> FaultsOfChoice(const Host& host, const std::vector<Resident>& others,
                                        const Resident& chosen, const Quotas& quotas);

}  // namespace aliquot::property
