// DevicePlugins: plays kubelet and device plugin of every node. A pod that was
// bound gets its devices: bind phase success, phase Running, and the node's lock
// is given back. Every half minute each node reports that its plugin is alive.
#pragma once

#include <stop_token>
#include <thread>

#include "aliquot/kube/types.h"
#include "cli/sandbox.h"

namespace aliquot::cli {

class DevicePlugins {
 public:
  // At work until it is destroyed. The sandbox outlives it.
  explicit DevicePlugins(Sandbox& sandbox);

 private:
  void Run(const std::stop_token& stop);
  void Serve(const kube::Pod& pod);
  void Report();

  Sandbox& sandbox_;
  std::jthread thread_;
};

}  // namespace aliquot::cli
