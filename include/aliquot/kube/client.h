// Client: kube::Api, RawApi and the Reflectors' ListWatcher over HTTP/1.1 (libcurl).
// Calls of the two lanes, lists and watches each have connections of their own,
// which are kept and used again.
//
// What happens to a failed call:
//   401             credentials are read anew, one more try
//   429, 503        repeated after Retry-After, while the deadline allows
//   5xx of a GET    the same
//   lost GET        repeated
//   lost write      kUnknownOutcome, never repeated: read back
//
// Thread safety: any method from any thread. Shutdown makes every call, running
// or new, answer kCancelled; the destructor must not run before they have
// returned.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "aliquot/base/clock.h"
#include "aliquot/kube/api.h"
#include "aliquot/kube/client_config.h"
#include "aliquot/kube/list_watcher.h"

namespace aliquot::kube {

struct ClientOptions {
  std::string user_agent = "aliquot";
  // --kube-qps and --kube-burst, see Lane. Lists count as scheduling calls (a
  // decision waits for them), watches are free.
  std::optional<double> qps = std::nullopt;
  int burst = 0;
  // --kube-timeout: for every request, and it ends watches too. 0: none.
  Duration timeout{0};
};

class Client : public Api, public RawApi, public ListWatcher {
 public:
  // `clock` outlives the client. The process ignores SIGPIPE from here on.
  Client(ClientConfig config, ClientOptions options, const Clock& clock = SystemClock());
  ~Client() override;

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

  Result<std::string> Call(const std::string& method, const std::string& target,
                           const std::string& body, const std::string& content_type,
                           const CallOptions&) override;

  Result<std::string> List(const std::string& target, const std::stop_token& stop) override;
  Result<void> Watch(const std::string& target, Duration longest,
                     const std::function<bool(std::string_view line)>& on_line,
                     const std::stop_token& stop) override;

  void Shutdown();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace aliquot::kube
