// ReadOnlyApi: passes reads on to the API server, and refuses every write with
// kForbidden before it leaves the process.
//
// Thread safety: any method from any thread.
#pragma once

#include "aliquot/kube/api.h"

namespace aliquot::kube {

class ReadOnlyApi : public Api {
 public:
  // `api` outlives it.
  explicit ReadOnlyApi(Api& api) : api_(api) {}

  Result<Pod> GetPod(std::string_view ns, std::string_view name, const CallOptions&) override;
  Result<Node> GetNode(std::string_view name, const CallOptions&) override;

  Result<Pod> PatchPod(const ObjectRef&, const std::string&, const CallOptions&) override;
  Result<Node> PatchNode(std::string_view, const std::string&, const CallOptions&) override;
  Result<void> Bind(const Binding&, const CallOptions&) override;
  Result<std::string> CreateEvent(std::string_view, const std::string&,
                                  const CallOptions&) override;
  Result<void> PatchEvent(std::string_view, std::string_view, const std::string&,
                          const CallOptions&) override;

 private:
  Api& api_;
};

}  // namespace aliquot::kube
