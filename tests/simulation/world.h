// World: all that one seed's actors share, and what users, nodes, device plugins and the
// weather do in it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "aliquot/cluster/cluster.h"
#include "aliquot/cluster/local_client.h"
#include "aliquot/core/vendor.h"
#include "property/random.h"
#include "simulation/faults.h"
#include "simulation/hardware.h"
#include "simulation/journal.h"
#include "simulation/model.h"

namespace aliquot::simulation {

struct World {
  World(uint64_t seed, bool print, const core::Registry& of_vendors);

  // A thread of the machine. World::Join waits for all of them.
  void Spawn(std::function<void()> run);
  void Join();

  // A call that always gets through, and is judged.
  Result<std::string> Do(const std::string& method, const std::string& target,
                         const Json& body = nullptr);

  property::Random random;
  Faults faults;
  Journal journal;
  cluster::Cluster cluster;
  cluster::LocalClient users{cluster};
  Model model;
  const core::Registry& registry;

  // The weather.
  bool outage = false;
  bool storm = false;

  bool calm = false;  // the faults are over: everything is to be placed now
  bool over = false;  // every actor ends

  std::map<std::string, MachineSpec> built;     // nodes as they were at first
  std::map<std::string, MachineSpec> machines;  // as they are now; those that are there

 private:
  int running_ = 0;
};

std::string PodTarget(const kube::Pod& pod);

// Builds the nodes, and keeps device plugins alive.
void BuildNodes(World& world);

// One pod of a random kind, under a name that may have been used before.
void CreatePod(World& world);

// The pod is deleted at once, and another one of its name is there.
void ReplacePod(World& world, const kube::Pod& pod);

// What kubelet and device plugin do for a bound pod: it is served, runs, and ends.
void RunPod(World& world, std::shared_ptr<const kube::Pod> pod);

// Changes nodes, pods and quotas until World::over; repairs everything once it is calm.
void Churn(World& world);

// Outages, storms of 429, compactions.
void Weather(World& world);

}  // namespace aliquot::simulation
