// Demo: places pods one after the other in a sandbox, and tells about it.
//
// Thread safety: one thread at a time.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "aliquot/base/result.h"
#include "cli/demo_screen.h"
#include "cli/device_plugins.h"
#include "cli/kube_scheduler.h"
#include "cli/sandbox.h"
#include "cli/stop_signals.h"

namespace aliquot::cli {

class Demo {
 public:
  // REQUIRES: the sandbox was started. Everything given outlives it.
  Demo(Sandbox& sandbox, const Screen& screen, StopSignals& signals);

  // One line per pod. Ends early after a stop signal.
  Result<void> Place(const std::vector<kube::Pod>& pods);

  // Tables of what there is now.
  void Report();

  // Places pods that somebody creates, and those that wait once there is room,
  // until a stop signal comes.
  Result<void> KeepPlacing();

 private:
  Result<void> PlaceOne(const kube::Pod& pod);
  void Tell(const Attempt& attempt);
  void WaitForPlugins();
  bool TakeNoteOfRoom();

  Sandbox& sandbox_;
  const Screen& screen_;
  StopSignals& signals_;
  DevicePlugins plugins_;
  KubeScheduler scheduler_;
  size_t name_width_ = 0;
  size_t wish_width_ = 0;

  std::vector<Attempt> attempts_;  // the last one of every pod, in the order of the first
  std::set<std::string> holding_;  // UIDs of pods that the ledger charges
  size_t nodes_ = 0;               // that are registered
};

}  // namespace aliquot::cli
