// Every vendor's hardware as the API server shows it: hosts that say in the
// vendor's wire format what they offer, and the texts by which pods ask for it.
// Nothing here comes from the vendors' own code: names and forms are written down
// once more.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "aliquot/base/string_map.h"
#include "property/random.h"

namespace aliquot::property {

// A way to cut a part out of a card; amounts as they are written on pods.
struct Profile {
  std::string name;
  int64_t memory = 0;
  int64_t cores = 0;
  int64_t slices = 0;
  std::vector<std::pair<int64_t, int64_t>> places = {};  // start and size
};

struct Card {
  std::string vendor;  // Hardware::key
  std::string id;
  std::string type;
  std::string mode = {};
  int64_t index = 0;
  int64_t slots = 0;
  int64_t memory = 0;
  int64_t cores = 0;
  int64_t numa = 0;
  bool healthy = true;
  bool cordoned = false;
  std::string group = {};                     // network, link zone or physical card
  std::map<std::string, int64_t> links = {};  // to other cards
  std::vector<Profile> profiles = {};
};

struct Host {
  std::string name;
  std::vector<Card> cards = {};
  StringMap annotations = {};
  StringMap capacity = {};
  StringMap labels = {};

  const Card* Find(const std::string& vendor, const std::string& id) const;
};

// What a container asks for, and how many shares it is to get.
struct Ask {
  StringMap limits;
  int64_t count = 0;
};

struct Hardware {
  std::string key;        // of the vendor
  std::string allocated;  // pod annotation with the shares
  std::string use_id = {}, nouse_id = {}, use_type = {}, nouse_type = {};
  // Quota: the resources, and accounting units to one unit of the memory resource.
  std::string memory_resource = {}, cores_resource = {};
  int64_t memory_factor = 1;
  // What of a card is never handed out beyond what it has.
  bool slots = true, memory = true, cores = true;
  bool exclusive = false;     // all 100 cores of a card: nobody else on it
  bool tells_health = false;  // single cards can be out of order

  void (*install)(const Hardware&, Random&, Host&) = nullptr;  // adds cards
  void (*publish)(const Hardware&, Host&) = nullptr;           // tells of them
  Ask (*ask)(const Hardware&, Random&) = nullptr;
  void (*annotate)(const Hardware&, Random&, StringMap&) = nullptr;  // on pods; null: nothing
};

// By key, ascending.
const std::map<std::string, Hardware>& AllHardware();

// Writes the host's annotations, capacity and labels afresh.
void Publish(Host& host);

}  // namespace aliquot::property
