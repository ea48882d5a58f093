// The accelerators of the simulated cluster, as device plugins and users know them: resource
// names, annotation keys, the forms of their texts.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aliquot/kube/types.h"
#include "property/random.h"

namespace aliquot::simulation {

using Json = nlohmann::json;

struct Hardware {
  std::string_view vendor;                // its key in our registry
  std::string_view register_key;          // of the node; empty: its capacity tells the cards
  std::string_view handshake_key;         // empty: none
  std::string_view allocated_key;         // of the pod
  std::string_view lock_key;              // of the node
  std::string_view count, memory, cores;  // resources
  int64_t memory_unit;                    // MiB per unit of the resource
};
std::span<const Hardware> AllHardware();

struct Use {
  int64_t slots = 0;
  int64_t memory = 0;
  int64_t cores = 0;
};

using CardKey = std::pair<std::string, std::string>;  // vendor, id

// What a node offers.
using Inventory = std::map<CardKey, Use>;
Inventory InventoryOf(const kube::Node& node);

// What a pod takes, by its annotations, its containers and how far its init containers are.
struct Taken {
  Use use;
  bool whole = false;  // one of its containers has the card for itself
};
using TakenCards = std::map<CardKey, Taken>;
TakenCards TakenBy(const kube::Pod& pod);

// A node as it is built. Changes are made to a copy.
struct MachineSpec {
  struct Card {
    std::string id;
    int64_t slots, memory;
    bool healthy = true;
  };
  std::string name;
  const Hardware* hardware = nullptr;
  std::vector<Card> cards;
  bool plugin_alive = true;

  std::string RegisterText() const;
  Json Resources() const;  // status.capacity and status.allocatable
};
MachineSpec RandomMachine(property::Random& random, int number, const Hardware& hardware);

// Fits onto `machine` while nobody else is there.
Json RandomPod(property::Random& random, const std::string& ns, const std::string& name,
               const MachineSpec& machine);

}  // namespace aliquot::simulation
