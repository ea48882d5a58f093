// MeteredClient: passes calls on to a client, and counts them and how they ended, as
// its callers see them: repetitions inside the client are one call.
//
// Thread safety: any method from any thread.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "aliquot/base/clock.h"
#include "aliquot/base/metrics.h"
#include "aliquot/base/metrics_text.h"
#include "aliquot/kube/api.h"
#include "aliquot/kube/list_watcher.h"

namespace aliquot::kube {

class MeteredClient : public Api, public ListWatcher {
 public:
  // Everything given outlives it.
  MeteredClient(Api& api, ListWatcher& lists, const Clock& clock);
  ~MeteredClient() override;

  Result<Pod> GetPod(std::string_view ns, std::string_view name, const CallOptions&) override;
  Result<Node> GetNode(std::string_view name, const CallOptions&) override;
  Result<Pod> PatchPod(const ObjectRef& ref, const std::string& merge_patch,
                       const CallOptions&) override;
  Result<Node> PatchNode(std::string_view name, const std::string& merge_patch,
                         const CallOptions&) override;
  Result<void> Bind(const Binding& binding, const CallOptions&) override;
  Result<std::string> CreateEvent(std::string_view ns, const std::string& event,
                                  const CallOptions&) override;
  Result<void> PatchEvent(std::string_view ns, std::string_view name, const std::string& patch,
                          const CallOptions&) override;

  Result<std::string> List(const std::string& target, const std::stop_token& stop) override;
  Result<void> Watch(const std::string& target, Duration longest,
                     const std::function<bool(std::string_view line)>& on_line,
                     const std::stop_token& stop) override;

  void WriteMetrics(MetricsText& text) const;

 private:
  struct Calls;

  Api& api_;
  ListWatcher& lists_;
  const Clock& clock_;
  const std::unique_ptr<Calls> calls_;
};

}  // namespace aliquot::kube
