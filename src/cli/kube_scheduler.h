// KubeScheduler: plays the part of kube-scheduler that the extender meets: one
// pod after the other, POST /filter with every node's name, POST /bind with the
// one that came back. Its own rules (taints, affinity, CPU) are not played.
//
// Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aliquot/base/clock.h"
#include "aliquot/base/object_ref.h"
#include "aliquot/base/result.h"
#include "aliquot/kube/types.h"
#include "cli/sandbox.h"

namespace aliquot::cli {

// How one attempt to place a pod ended.
struct Attempt {
  kube::Pod pod;     // as it is after it
  std::string node;  // where it is bound now; empty: nowhere
  std::vector<std::pair<std::string, std::string>> refusals;  // node -> why, by name
  std::string error;                                          // of /filter or /bind
  Duration filter{0};
  Duration bind{0};  // 0: it did not come to that
};

class KubeScheduler {
 public:
  // REQUIRES: the sandbox was started, and outlives it.
  explicit KubeScheduler(Sandbox& sandbox);
  ~KubeScheduler();

  // Errors: there is no such pod, or the extender does not answer as it should.
  Result<Attempt> Place(const ObjectRef& pod);

 private:
  struct Http;

  Sandbox& sandbox_;
  std::unique_ptr<Http> http_;
};

}  // namespace aliquot::cli
