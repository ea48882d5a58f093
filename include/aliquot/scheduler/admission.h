// AdmissionService: what becomes of a pod that is being created. Pods that ask for
// devices are routed to our scheduler and completed by their vendors; pods that can
// never work are refused. Reads memory only and writes nothing, so that a dry run is
// like any other call, and a second call on its own result changes nothing.
#pragma once

#include <string>
#include <vector>

#include "aliquot/core/vendor.h"
#include "aliquot/kube/admission.h"
#include "aliquot/ledger/ledger.h"
#include "aliquot/scheduler/options.h"

namespace aliquot::scheduler {

struct AdmissionRequest {
  std::string ns;
  std::string operation;  // "CREATE", ...
  kube::SubmittedPod pod;
};

// How a review ended.
enum class AdmissionOutcome { kAllowed, kDenied, kError, kCount };

struct AdmissionAnswer {
  bool allowed = false;
  int code = 200;                          // 200 allowed, 403 denied, 500 refused by a vendor
  std::string message = {};                // why; may be empty if it is allowed
  kube::SubmittedPod pod = {};             // if it is allowed: as it should be
  std::vector<std::string> warnings = {};  // for the user, if it is allowed

  AdmissionOutcome outcome() const {
    if (allowed) return AdmissionOutcome::kAllowed;
    return code == 403 ? AdmissionOutcome::kDenied : AdmissionOutcome::kError;
  }
};

// Thread safety: any method from any thread. Waits for nothing but the ledger's mutex.
class AdmissionService {
 public:
  // Everything given outlives it.
  AdmissionService(const core::Registry& registry, const ledger::Ledger& ledger,
                   const Options& options)
      : registry_(registry), ledger_(ledger), options_(options) {}

  AdmissionAnswer Admit(const AdmissionRequest& request) const;

 private:
  struct Completed {
    bool claimed = false;  // some vendor claims a container
    std::vector<std::string> warnings = {};
  };

  bool IsForeign(const std::string& scheduler_name) const;
  void RemoveOurKeys(kube::SubmittedPod& pod) const;
  Result<Completed> Complete(kube::SubmittedPod& pod) const;

  const core::Registry& registry_;
  const ledger::Ledger& ledger_;
  const Options& options_;
};

}  // namespace aliquot::scheduler
