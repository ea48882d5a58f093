// A made-up kube-scheduler over the extender: it takes pods from a queue, asks /filter, then
// /bind, and puts a pod that failed back with a growing pause. It lags behind the API server,
// forgets, repeats itself and asks twice, as the faults say.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulation/process.h"
#include "simulation/world.h"

namespace aliquot::simulation {

class KubeScheduler {
 public:
  explicit KubeScheduler(World& world) : world_(world) {}

  // The processes behind the extender's address, oldest first. The last is the one that is
  // to stay.
  std::vector<std::shared_ptr<Process>> processes;

  void Add(const std::shared_ptr<const kube::Pod>& pod);

  // One of several that work at the same time, until World::over.
  void Work();

  // Pods that are to be placed.
  size_t pending() const;

  uint64_t decisions = 0;  // answers of /filter that found a node or none
  uint64_t binds = 0;      // successful ones

 private:
  struct Waiting {
    std::shared_ptr<const kube::Pod> pod;  // as kube-scheduler first saw it
    SteadyTime due;
    Duration pause{};       // after the next failure
    std::string last_node;  // that a filter has named
    bool busy = false;
  };

  std::shared_ptr<Process> Any();
  Waiting* NextDue();
  bool Place(const std::string& uid, const Waiting& waiting);
  std::optional<std::string> Filter(const kube::Pod& pod);
  bool Bind(const kube::Pod& pod, const std::string& node);
  std::shared_ptr<const kube::Pod> Unbound(const std::string& uid) const;

  World& world_;
  std::map<std::string, Waiting> queue_;  // by UID
};

}  // namespace aliquot::simulation
