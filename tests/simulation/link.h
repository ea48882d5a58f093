// Link: one process's way to the API server, with all that goes wrong on it. Every call
// gives way to other threads before it arrives and before its answer is back, so that
// anything may happen between; also the end of the process, from which on nothing it says
// gets through.
//
// A request that was given up is carried out before that or never: what the API server does
// minutes later with a request of somebody who has gone is not simulated.
#pragma once

#include <array>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "aliquot/kube/api.h"
#include "aliquot/kube/list_watcher.h"
#include "simulation/world.h"

namespace aliquot::simulation {

class Link : public kube::Api, public kube::ListWatcher {
 public:
  // `owner` is whose calls these are. `crash` ends the process, by Cut among other things.
  // `on_write` is told before a pod is patched or bound.
  Link(World& world, const Witness& owner, std::function<void()> crash,
       std::function<void(const std::string& uid)> on_write);

  void Cut() { stop_.request_stop(); }
  bool cut() const { return stop_.stop_requested(); }

  // Pods have been told to the cache up to this version.
  uint64_t pods_seen() const { return pods_seen_; }

  Result<kube::Pod> GetPod(std::string_view ns, std::string_view name,
                           const kube::CallOptions& call) override;
  Result<kube::Node> GetNode(std::string_view name, const kube::CallOptions& call) override;
  Result<kube::Pod> PatchPod(const ObjectRef& ref, const std::string& merge_patch,
                             const kube::CallOptions& call) override;
  Result<kube::Node> PatchNode(std::string_view name, const std::string& merge_patch,
                               const kube::CallOptions& call) override;
  Result<void> Bind(const kube::Binding& binding, const kube::CallOptions& call) override;
  // Events are not simulated.
  Result<std::string> CreateEvent(std::string_view ns, const std::string& event,
                                  const kube::CallOptions& call) override;
  Result<void> PatchEvent(std::string_view ns, std::string_view name, const std::string& patch,
                          const kube::CallOptions& call) override;

  Result<std::string> List(const std::string& target, const std::stop_token& stop) override;
  Result<void> Watch(const std::string& target, Duration longest,
                     const std::function<bool(std::string_view line)>& on_line,
                     const std::stop_token& stop) override;

 private:
  template <typename T>
  Result<T> Send(const std::string& what, bool write, const kube::CallOptions& call,
                 const std::function<Result<T>()>& carry);
  bool Travel(Duration time, SteadyTime give_up);
  bool Dies();

  World& world_;
  const Witness& owner_;
  const std::function<void()> crash_;
  const std::function<void(const std::string&)> on_write_;
  const Duration longest_lag_;  // of an event, while nothing is wrong
  std::stop_source stop_;
  uint64_t pods_seen_ = 0;
};

}  // namespace aliquot::simulation
