#include "property/hardware.h"

#include <nlohmann/json.hpp>

namespace aliquot::property {
namespace {

using Json = nlohmann::json;

std::string Text(int64_t number) { return std::to_string(number); }

template <typename F>
void ForCards(const Hardware& hardware, Host& host, const F& apply) {
  for (Card& card : host.cards)
    if (card.vendor == hardware.key) apply(card);
}

int64_t CountCards(const Hardware& hardware, Host& host) {
  int64_t count = 0;
  ForCards(hardware, host, [&](Card&) { ++count; });
  return count;
}

const Card& AnyCard(const Hardware& hardware, const Host& host) {
  for (const Card& card : host.cards)
    if (card.vendor == hardware.key) return card;
  throw std::logic_error(hardware.key + ": a host without cards is told of");
}

// ---- node texts

// The JSON form of a card, without the fields that are only some vendors'.
Json JsonCard(const Card& card) {
  Json json = {{"id", card.id},         {"index", card.index},   {"count", card.slots},
               {"devmem", card.memory}, {"devcore", card.cores}, {"type", card.type},
               {"numa", card.numa},     {"health", card.healthy}};
  if (!card.mode.empty()) json["mode"] = card.mode;
  for (const Profile& profile : card.profiles) {
    Json places = Json::array();
    for (const auto& [start, size] : profile.places)
      places.push_back({{"start", start}, {"size", size}});
    json["migProfiles"].push_back({{"name", profile.name},
                                   {"memoryMB", profile.memory},
                                   {"core", profile.cores},
                                   {"sliceCount", profile.slices},
                                   {"placements", std::move(places)}});
  }
  return json;
}

template <typename F>
std::string JsonCards(const Hardware& hardware, Host& host, const F& card_form) {
  Json list = Json::array();
  ForCards(hardware, host, [&](const Card& card) { list.push_back(card_form(card)); });
  return list.dump();
}

std::string ColonCards(const Hardware& hardware, Host& host) {
  std::string text;
  ForCards(hardware, host, [&](const Card& card) {
    text += card.id + "," + Text(card.slots) + "," + Text(card.memory) + "," + Text(card.cores) +
            "," + card.type + "," + Text(card.numa) + "," + (card.healthy ? "true" : "false") +
            "," + Text(card.index) + ",hami-core:";
  });
  return text;
}

void Place(Host& host, std::string key, std::string text) {
  host.annotations[std::move(key)] = std::move(text);
}

// ---- NVIDIA

std::vector<Profile> A100Profiles(Random& random) {
  std::vector<Profile> profiles = {
      {"1g.5gb", 4864, 14, 1, {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}}},
      {"2g.10gb", 9856, 28, 2, {{0, 2}, {2, 2}, {4, 2}}},
      {"3g.20gb", 19968, 42, 3, {{0, 4}, {4, 4}}},
      {"7g.40gb", 40192, 100, 7, {{0, 8}}}};
  random.Shuffle(profiles);
  profiles.resize(static_cast<size_t>(random.Between(1, 4)));
  return profiles;
}

void InstallNvidia(const Hardware& hardware, Random& random, Host& host) {
  const bool cut_up = random.Chance(40);
  const int64_t count = random.Between(1, 6);
  for (int64_t i = 0; i < count; ++i) {
    Card card{hardware.key, "GPU-" + Text(i),
              random.OneOf<std::string>({"NVIDIA A100-SXM4-40GB", "NVIDIA T4", "NVIDIA"})};
    card.mode = random.OneOf<std::string>({"hami-core", "hami-core", "mps"});
    card.index = i;
    card.slots = random.Between(1, 6);
    card.memory = random.OneOf<int64_t>({16000, 40960});
    card.cores = random.OneOf<int64_t>({100, 100, 100, 200});
    card.numa = random.Between(0, 1);
    card.cordoned = random.Chance(5);
    if (cut_up && random.Chance(60)) {
      card.mode = "mig";
      card.profiles = A100Profiles(random);
      card.memory = 40960;
      card.cores = 100;
      card.slots = 7;
    }
    host.cards.push_back(std::move(card));
  }
  for (Card& a : host.cards)
    for (Card& b : host.cards)
      if (a.vendor == hardware.key && b.vendor == hardware.key && a.id < b.id)
        a.links[b.id] = b.links[a.id] = random.Between(-5, 300);
}

void PublishNvidia(const Hardware& hardware, Host& host) {
  Place(host, "hami.io/node-nvidia-register", JsonCards(hardware, host, JsonCard));
  Place(host, "hami.io/node-nvidia-score", JsonCards(hardware, host, [](const Card& card) {
          return Json{{"uuid", card.id}, {"score", Json(card.links)}};
        }));
  std::string cordoned;
  ForCards(hardware, host, [&](const Card& card) {
    if (card.cordoned) cordoned += card.id + ", ";
  });
  Place(host, "hami.io/device-cordon", cordoned);
}

Ask AskNvidia(const Hardware&, Random& random) {
  Ask ask{{}, random.Between(1, 3)};
  if (random.Chance(20))
    ask.count = 1;  // the default count
  else
    ask.limits["nvidia.com/gpu"] = Text(ask.count);
  if (random.Chance(60) || ask.limits.empty())
    ask.limits["nvidia.com/gpumem"] = Text(random.Between(1, 12000));
  else if (random.Chance(70))
    ask.limits["nvidia.com/gpumem-percentage"] = Text(random.Between(1, 100));
  if (random.Chance(60))
    ask.limits["nvidia.com/gpucores"] = Text(random.OneOf<int64_t>({0, 10, 30, 50, 100, 120}));
  return ask;
}

void AnnotateNvidia(const Hardware&, Random& random, StringMap& annotations) {
  if (random.Chance(25)) annotations["nvidia.com/numa-bind"] = "true";
  if (random.Chance(30))
    annotations["nvidia.com/vgpu-mode"] = random.OneOf<std::string>({"mig", "hami-core", "mps"});
}

// ---- share vendors: DCU and Iluvatar in the colon form, AMD and Ascend in the JSON form

void InstallShared(const Hardware& hardware, Random& random, Host& host) {
  for (int64_t i = 0, count = random.Between(1, 5); i < count; ++i) {
    Card card{hardware.key, hardware.key + "-" + Text(i), hardware.key};
    card.index = i;
    card.slots = random.Between(1, 6);
    card.memory = random.OneOf<int64_t>({16384, 32768});
    card.cores = random.OneOf<int64_t>({100, 100, 100, 60});
    card.numa = random.Between(0, 1);
    host.cards.push_back(std::move(card));
  }
}

int64_t AnyCores(Random& random) { return random.OneOf<int64_t>({0, 10, 30, 50, 60, 100, 130}); }

void PublishDcu(const Hardware& hardware, Host& host) {
  Place(host, "hami.io/node-dcu-register", ColonCards(hardware, host));
}

Ask AskDcu(const Hardware&, Random& random) {
  Ask ask{{}, random.Between(1, 3)};
  ask.limits["hygon.com/dcunum"] = Text(ask.count);
  if (random.Chance(80)) ask.limits["hygon.com/dcumem"] = Text(random.Between(1, 12000));
  if (random.Chance(80)) ask.limits["hygon.com/dcucores"] = Text(AnyCores(random));
  return ask;
}

void PublishIluvatar(const Hardware& hardware, Host& host) {
  Place(host, "hami.io/node-" + hardware.key + "-register", ColonCards(hardware, host));
}

Ask AskIluvatar(const Hardware& hardware, Random& random) {
  const std::string prefix = "iluvatar.ai/" + hardware.key;
  Ask ask{{}, random.Between(1, 3)};
  ask.limits[prefix + "-vgpu"] = Text(ask.count);
  if (random.Chance(80)) ask.limits[prefix + ".vMem"] = Text(random.Between(1, 48));
  if (random.Chance(80)) ask.limits[prefix + ".vCore"] = Text(AnyCores(random));
  return ask;
}

void InstallAmd(const Hardware& hardware, Random& random, Host& host) {
  InstallShared(hardware, random, host);
  ForCards(hardware, host, [&](Card& card) {
    card.type = "AMD Instinct MI300X VF";
    card.cores = random.OneOf<int64_t>({304, 64, 10});
  });
}

void PublishAmd(const Hardware& hardware, Host& host) {
  host.capacity["amd.com/gpu"] = Text(CountCards(hardware, host));
  Place(host, "hami.io/node-amd-register", JsonCards(hardware, host, JsonCard));
}

Ask AskAmd(const Hardware&, Random& random) {
  Ask ask{{}, random.Between(1, 3)};
  ask.limits["amd.com/gpu"] = Text(ask.count);
  if (random.Chance(80)) ask.limits["amd.com/gpumem"] = Text(random.Between(0, 12000));
  if (random.Chance(80)) ask.limits["amd.com/gpucores"] = Text(random.Between(1, 100));
  return ask;
}

void InstallAscend(const Hardware& hardware, Random& random, Host& host) {
  const bool networks = random.Chance(70);
  // Of the node: one word for the chips of every kind.
  const bool hami_core =
      host.annotations.try_emplace("hami-vnpu-core", random.Chance(50) ? "true" : "false")
          .first->second == "true";
  const auto memory = random.OneOf<int64_t>({32768, 65536});
  for (int64_t i = 0, count = random.OneOf<int64_t>({1, 2, 4, 8}); i < count; ++i) {
    Card card{hardware.key, hardware.key + "-npu-" + Text(i), hardware.key};
    card.index = i;
    card.slots = random.Between(1, 6);
    card.memory = memory;
    card.cores = hami_core ? 100 : 20;
    if (networks) card.group = Text(random.Between(0, 2));
    host.cards.push_back(std::move(card));
  }
}

void PublishAscend(const Hardware& hardware, Host& host) {
  Place(host, "hami.io/node-register-" + hardware.key,
        JsonCards(hardware, host, [](const Card& card) {
          Json json = JsonCard(card);
          json["devcore"] = 20;  // AI cores, also where cards are split by software
          if (!card.group.empty()) json["custominfo"] = {{"NetworkID", std::stoi(card.group)}};
          return json;
        }));
}

Ask AskAscend(const Hardware& hardware, Random& random) {
  const std::string name = "huawei.com/" + hardware.key;
  Ask ask{{}, random.OneOf<int64_t>({1, 1, 2, 3, 4})};
  ask.limits[name] = Text(ask.count);
  if (random.Chance(70)) ask.limits[name + "-memory"] = Text(random.Between(1, 20000));
  if (random.Chance(30)) ask.limits[name + "-core"] = Text(random.OneOf<int64_t>({5, 20, 100}));
  return ask;
}

void AnnotateAscend(const Hardware&, Random& random, StringMap& annotations) {
  if (random.Chance(25)) annotations["huawei.com/vnpu-mode"] = "hami-core";
}

// ---- vendors that only hand out slots

void InstallBiren(const Hardware& hardware, Random& random, Host& host) {
  for (int64_t i = 0, count = random.Between(1, 5); i < count; ++i) {
    Card card{hardware.key, "7-" + Text(i), hardware.key};
    card.index = i;
    card.slots = random.Between(1, 3);
    card.memory = 32768;
    host.cards.push_back(std::move(card));
  }
}

void PublishBiren(const Hardware& hardware, Host& host) {
  Place(host, "hami.io/node-biren-register", JsonCards(hardware, host, JsonCard));
}

template <typename Count>
Ask AskCount(const char* resource, const Count& count) {
  return {{{resource, Text(count)}}, count};
}

Ask AskBiren(const Hardware&, Random& random) {
  return AskCount("birentech.com/gpu", random.Between(1, 3));
}

void InstallVastai(const Hardware& hardware, Random& random, Host& host) {
  InstallBiren(hardware, random, host);
  if (random.Chance(30)) return;  // whole cards
  ForCards(hardware, host, [&](Card& card) {
    card.mode = "die";
    if (random.Chance(85)) card.group = random.OneOf<std::string>({"a", "b"});
  });
}

void PublishVastai(const Hardware& hardware, Host& host) {
  Place(host, "hami.io/node-va-register", JsonCards(hardware, host, [](const Card& card) {
          Json json = JsonCard(card);
          if (card.mode == "die") json["custominfo"]["DeviceStrategy"] = "die";
          if (!card.group.empty()) json["custominfo"]["AIC"] = card.group;
          return json;
        }));
}

Ask AskVastai(const Hardware&, Random& random) {
  return AskCount("vastaitech.com/va", random.Between(1, 3));
}

// ---- cards that the node's capacity speaks of

void InstallByCapacity(const Hardware& hardware, Host& host, int64_t count,
                       const std::string& infix, const Card& like) {
  for (int64_t i = 0; i < count; ++i) {
    Card card = like;
    card.vendor = card.type = hardware.key;
    card.id = host.name + infix + Text(i);
    card.index = i;
    host.cards.push_back(std::move(card));
  }
}

void InstallNeuron(const Hardware& hardware, Random& random, Host& host) {
  Card like;
  like.slots = random.OneOf<int64_t>({2, 2, 4});
  like.cores = (int64_t{1} << like.slots) - 1;
  InstallByCapacity(hardware, host, random.OneOf<int64_t>({1, 2, 6, 16}), "-AWSNeuron-", like);
  host.labels["node.kubernetes.io/instance-type"] =
      random.OneOf<std::string>({"inf2.24xlarge", "trn1.32xlarge"});
}

void PublishNeuron(const Hardware& hardware, Host& host) {
  const int64_t count = CountCards(hardware, host);
  host.capacity["aws.amazon.com/neuron"] = Text(count);
  host.capacity["aws.amazon.com/neuroncore"] = Text(count * AnyCard(hardware, host).slots);
}

Ask AskNeuron(const Hardware&, Random& random) {
  if (random.Chance(50))
    return AskCount("aws.amazon.com/neuron", random.OneOf<int64_t>({1, 2, 3, 4, 8}));
  const int64_t cores = random.OneOf<int64_t>({1, 1, 2, 4});
  return {{{"aws.amazon.com/neuroncore", Text(cores)}}, (cores + 1) / 2};
}

void InstallMlu(const Hardware& hardware, Random& random, Host& host) {
  Card like;
  like.slots = like.cores = 100;
  like.memory = random.OneOf<int64_t>({64, 160}) * 256;
  InstallByCapacity(hardware, host, random.Between(1, 4), "-cambricon-mlu-", like);
}

void PublishMlu(const Hardware& hardware, Host& host) {
  const int64_t count = CountCards(hardware, host);
  host.capacity["cambricon.com/mlu.smlu.vcore"] = Text(count * 100);
  host.capacity["cambricon.com/mlu.smlu.vmemory"] =
      Text(count * AnyCard(hardware, host).memory / 256);
}

Ask AskMlu(const Hardware&, Random& random) {
  Ask ask{{}, random.Between(1, 2)};
  ask.limits["cambricon.com/vmlu"] = Text(ask.count);
  if (random.Chance(80)) ask.limits["cambricon.com/mlu.smlu.vmemory"] = Text(random.Between(1, 60));
  if (random.Chance(80)) ask.limits["cambricon.com/mlu.smlu.vcore"] = Text(AnyCores(random));
  return ask;
}

void InstallMthreads(const Hardware& hardware, Random& random, Host& host) {
  Card like;
  like.slots = 100;
  like.cores = 16;
  like.memory = 96 * 512;
  InstallByCapacity(hardware, host, random.Between(1, 4), "-mthreads-", like);
}

void PublishMthreads(const Hardware& hardware, Host& host) {
  const int64_t count = CountCards(hardware, host);
  host.capacity["mthreads.com/sgpu-core"] = Text(count * 16);
  host.capacity["mthreads.com/sgpu-memory"] = Text(count * 96);
}

Ask AskMthreads(const Hardware&, Random& random) {
  Ask ask{{}, random.OneOf<int64_t>({1, 1, 1, 2})};
  ask.limits["mthreads.com/vgpu"] = Text(ask.count);
  if (random.Chance(80)) ask.limits["mthreads.com/sgpu-memory"] = Text(random.Between(1, 60));
  if (random.Chance(80)) ask.limits["mthreads.com/sgpu-core"] = Text(random.Between(0, 16));
  return ask;
}

void InstallMetaxGpu(const Hardware& hardware, Random& random, Host& host) {
  Card like;
  like.slots = 1;
  like.memory = 65536;
  like.cores = 100;
  InstallByCapacity(hardware, host, random.Between(1, 8), "-metax-", like);
}

void PublishMetaxGpu(const Hardware& hardware, Host& host) {
  host.capacity["metax-tech.com/gpu"] = Text(CountCards(hardware, host));
  Place(host, "metax-tech.com/gpu.topology.losses", R"({"1":0,"2":110,"3":270,"4":540})");
  Place(host, "metax-tech.com/gpu.topology.scores", R"({"1":10,"2":90,"3":120,"4":400})");
}

Ask AskMetaxGpu(const Hardware&, Random& random) {
  return AskCount("metax-tech.com/gpu", random.Between(1, 4));
}

// ---- MetaX, shared GPUs

void InstallMetaxSgpu(const Hardware& hardware, Random& random, Host& host) {
  for (int64_t i = 0, count = random.Between(1, 6); i < count; ++i) {
    Card card{hardware.key, "GPU-m" + Text(i), hardware.key};
    card.index = i;
    card.slots = random.Between(1, 6);
    card.memory = 32768;
    card.cores = 100;
    card.mode = random.OneOf<std::string>({"", "best-effort", "fixed-share"});  // its QoS
    if (random.Chance(70)) card.group = Text(random.Between(1, 2));             // link zone
    host.cards.push_back(std::move(card));
  }
}

void PublishMetaxSgpu(const Hardware& hardware, Host& host) {
  Place(host, "metax-tech.com/node-gpu-devices", JsonCards(hardware, host, [](const Card& card) {
          return Json{{"uuid", card.id},
                      {"model", "sgpu"},
                      {"totalDevCount", card.slots},
                      {"totalCompute", card.cores},
                      {"totalVRam", card.memory},
                      {"numa", card.numa},
                      {"healthy", card.healthy},
                      {"qosPolicy", card.mode},
                      {"linkZone", card.group.empty() ? 0 : std::stoi(card.group)}};
        }));
}

Ask AskMetaxSgpu(const Hardware&, Random& random) {
  Ask ask{{}, random.OneOf<int64_t>({1, 1, 2, 3})};
  ask.limits["metax-tech.com/sgpu"] = Text(ask.count);
  if (random.Chance(70)) ask.limits["metax-tech.com/vmemory"] = Text(random.Between(1, 12));
  if (random.Chance(70))
    ask.limits["metax-tech.com/vcore"] = Text(random.OneOf<int64_t>({0, 10, 30, 50, 100}));
  return ask;
}

// As admission leaves it: who is not online has a QoS.
void AnnotateMetaxSgpu(const Hardware&, Random& random, StringMap& annotations) {
  const auto of_class = random.OneOf<std::string>({"", "", "online", "offline"});
  if (!of_class.empty()) annotations["metax-tech.com/sgpu-app-class"] = of_class;
  if (of_class != "online")
    annotations["metax-tech.com/sgpu-qos-policy"] =
        random.OneOf<std::string>({"best-effort", "fixed-share", "burst-share"});
  if (random.Chance(30)) annotations["metax-tech.com/sgpu-topology-aware"] = "true";
}

// ---- Enflame and Kunlun: whole cards, and parts of the same cards

// As many as the host has of the other kind: they are the same cards.
int64_t CardsOfOther(const Host& host, const std::string& key, int64_t otherwise) {
  int64_t count = 0;
  for (const Card& card : host.cards) count += card.vendor == key ? 1 : 0;
  return count > 0 ? count : otherwise;
}

void InstallGcu(const Hardware& hardware, Random& random, Host& host) {
  Card like;
  like.slots = 1;
  like.memory = like.cores = 100;
  InstallByCapacity(hardware, host, CardsOfOther(host, "Enflame", random.Between(1, 4)), "-GCU-",
                    like);
}

void PublishGcu(const Hardware& hardware, Host& host) {
  host.capacity["enflame.com/gcu"] = Text(CountCards(hardware, host));
}

Ask AskGcu(const Hardware&, Random& random) {
  return AskCount("enflame.com/gcu", random.Between(1, 2));
}

void InstallEnflame(const Hardware& hardware, Random& random, Host& host) {
  Card like;
  like.slots = 6;
  like.memory = 40960;
  like.cores = 100;
  like.profiles = {{"1g.6gb", 6144, 17, 1},
                   {"2g.12gb", 12288, 34, 2},
                   {"3g.20gb", 20480, 50, 3},
                   {"6g.40gb", 40960, 100, 6}};
  InstallByCapacity(hardware, host, CardsOfOther(host, "GCU", random.Between(1, 4)),
                    "-enflame-drs-", like);
  ForCards(hardware, host, [&](Card& card) { card.slots = random.OneOf<int64_t>({6, 6, 4}); });
}

void PublishEnflame(const Hardware& hardware, Host& host) {
  Json text = {{"devices", Json::array()}, {"profiles", Json::object()}};
  ForCards(hardware, host, [&](const Card& card) {
    text["devices"].push_back(
        {{"index", Text(card.index)}, {"minor", Text(card.index)}, {"capacity", card.slots}});
    for (size_t i = 0; i < card.profiles.size(); ++i)
      text["profiles"][card.profiles[i].name] = std::to_string(i);
  });
  Place(host, "enflame.com/gcu-drs-capacity", text.dump());
}

Ask AskEnflame(const Hardware&, Random& random) {
  Ask ask{{}, 1};
  if (random.Chance(50)) {
    ask.limits["enflame.com/drs-gcu"] = Text(random.OneOf<int64_t>({1, 1, 2, 3, 6, 5}));
    return ask;
  }
  ask.limits["enflame.com/gcu-memory"] = Text(random.Between(1, 45));
  if (random.Chance(50)) ask.limits["enflame.com/gcu-core"] = Text(random.Between(1, 100));
  return ask;
}

void InstallKunlun(const Hardware& hardware, Random& random, Host& host) {
  Card like;
  like.slots = 1;  // whole cards: one at a time, whatever is registered
  like.memory = 98304;
  like.cores = 100;
  InstallByCapacity(hardware, host,
                    CardsOfOther(host, "XPU", random.OneOf<int64_t>({8, 8, 8, 4, 6})), "-kunlun-",
                    like);
}

void PublishKunlun(const Hardware& hardware, Host& host) {
  host.capacity["kunlunxin.com/xpu"] = Text(CountCards(hardware, host));
}

Ask AskKunlun(const Hardware&, Random& random) {
  return AskCount("kunlunxin.com/xpu", random.OneOf<int64_t>({1, 1, 2, 2, 4, 8}));
}

void InstallXpu(const Hardware& hardware, Random& random, Host& host) {
  const int64_t count = CardsOfOther(host, "kunlun", random.OneOf<int64_t>({8, 8, 4}));
  for (int64_t i = 0; i < count; ++i) {
    Card card{hardware.key, "xpu-" + Text(i), hardware.key};
    card.index = i;
    card.slots = 1;  // not looked at: the memory is the limit
    card.memory = 98304;
    card.cores = 100;
    host.cards.push_back(std::move(card));
  }
}

void PublishXpu(const Hardware& hardware, Host& host) {
  Place(host, "hami.io/node-register-xpu", JsonCards(hardware, host, JsonCard));
}

Ask AskXpu(const Hardware&, Random& random) {
  Ask ask = AskCount("kunlunxin.com/vxpu", random.OneOf<int64_t>({1, 1, 2, 4}));
  if (random.Chance(80))
    ask.limits["kunlunxin.com/vxpu-memory"] =
        Text(random.OneOf<int64_t>({1000, 24576, 30000, 49152, 98304}));
  return ask;
}

// ---- all

std::map<std::string, Hardware> MakeAll() {
  std::map<std::string, Hardware> all;
  const auto add = [&](Hardware hardware) { all.emplace(hardware.key, hardware); };
  add({.key = "NVIDIA",
       .allocated = "hami.io/vgpu-devices-allocated",
       .use_id = "nvidia.com/use-gpuuuid",
       .nouse_id = "nvidia.com/nouse-gpuuuid",
       .use_type = "nvidia.com/use-gputype",
       .nouse_type = "nvidia.com/nouse-gputype",
       .memory_resource = "nvidia.com/gpumem",
       .cores_resource = "nvidia.com/gpucores",
       .exclusive = true,
       .tells_health = true,
       .install = InstallNvidia,
       .publish = PublishNvidia,
       .ask = AskNvidia,
       .annotate = AnnotateNvidia});
  add({.key = "AMD",
       .allocated = "hami.io/amd-devices-allocated",
       .use_id = "amd.com/use-gpu-uuid",
       .nouse_id = "amd.com/nouse-gpu-uuid",
       .use_type = "amd.com/use-gputype",
       .nouse_type = "amd.com/nouse-gputype",
       .memory_resource = "amd.com/gpumem",
       .cores_resource = "amd.com/gpucores",
       .tells_health = true,
       .install = InstallAmd,
       .publish = PublishAmd,
       .ask = AskAmd});
  add({.key = "AWSNeuron",
       .allocated = "hami.io/aws-neuron-devices-allocated",
       .use_id = "aws.amazon.com/use-neuron-uuid",
       .nouse_id = "aws.amazon.com/nouse-neuron-uuid",
       .cores_resource = "aws.amazon.com/neuroncore",
       .install = InstallNeuron,
       .publish = PublishNeuron,
       .ask = AskNeuron});
  add({.key = "Biren",
       .allocated = "hami.io/Biren-devices-allocated",
       .use_id = "birentech.com/use-gpuuuid",
       .nouse_id = "birentech.com/nouse-gpuuuid",
       .memory = false,
       .cores = false,
       .tells_health = true,
       .install = InstallBiren,
       .publish = PublishBiren,
       .ask = AskBiren});
  add({.key = "MLU",
       .allocated = "hami.io/cambricon-mlu-devices-allocated",
       .use_id = "cambricon.com/use-gpuuuid",
       .nouse_id = "cambricon.com/nouse-gpuuuid",
       .memory_resource = "cambricon.com/mlu.smlu.vmemory",
       .cores_resource = "cambricon.com/mlu.smlu.vcore",
       .memory_factor = 256,
       .exclusive = true,
       .install = InstallMlu,
       .publish = PublishMlu,
       .ask = AskMlu});
  add({.key = "GCU",
       .allocated = "hami.io/enflame-gcu-devices-allocated",
       .install = InstallGcu,
       .publish = PublishGcu,
       .ask = AskGcu});
  add({.key = "Enflame",
       .allocated = "hami.io/enflame-vgpu-devices-allocated",
       .use_id = "enflame.com/use-gpuuuid",
       .nouse_id = "enflame.com/nouse-gpuuuid",
       .memory_resource = "enflame.com/gcu-memory",
       .cores_resource = "enflame.com/gcu-core",
       .cores = false,  // percentages are rounded up: the slices are the limit
       .install = InstallEnflame,
       .publish = PublishEnflame,
       .ask = AskEnflame});
  add({.key = "DCU",
       .allocated = "hami.io/dcu-devices-allocated",
       .use_id = "hygon.com/use-gpuuuid",
       .nouse_id = "hygon.com/nouse-gpuuuid",
       .use_type = "hygon.com/use-dcutype",
       .nouse_type = "hygon.com/nouse-dcutype",
       .memory_resource = "hygon.com/dcumem",
       .cores_resource = "hygon.com/dcucores",
       .exclusive = true,
       .tells_health = true,
       .install = InstallShared,
       .publish = PublishDcu,
       .ask = AskDcu});
  add({.key = "kunlun",
       .allocated = "hami.io/kunlun-allocated",
       .use_id = "hami.io/use-xpu-uuid",
       .nouse_id = "hami.io/no-use-xpu-uuid",
       .install = InstallKunlun,
       .publish = PublishKunlun,
       .ask = AskKunlun});
  add({.key = "XPU",
       .allocated = "hami.io/xpu-devices-allocated",
       .use_id = "baidu.com/use-gpuuuid",
       .nouse_id = "baidu.com/nouse-gpuuuid",
       .memory_resource = "kunlunxin.com/vxpu-memory",
       .slots = false,
       .tells_health = true,
       .install = InstallXpu,
       .publish = PublishXpu,
       .ask = AskXpu});
  add({.key = "Metax-GPU",
       .allocated = "hami.io/metax-gpu-devices-allocated",
       .exclusive = true,
       .install = InstallMetaxGpu,
       .publish = PublishMetaxGpu,
       .ask = AskMetaxGpu});
  add({.key = "Metax-SGPU",
       .allocated = "hami.io/metax-sgpu-devices-allocated",
       .use_id = "metax-tech.com/use-gpuuuid",
       .nouse_id = "metax-tech.com/nouse-gpuuuid",
       .memory_resource = "metax-tech.com/vmemory",
       .cores_resource = "metax-tech.com/vcore",
       .memory_factor = 1024,
       .exclusive = true,
       .tells_health = true,
       .install = InstallMetaxSgpu,
       .publish = PublishMetaxSgpu,
       .ask = AskMetaxSgpu,
       .annotate = AnnotateMetaxSgpu});
  add({.key = "Mthreads",
       .allocated = "hami.io/mthreads-vgpu-devices-allocated",
       .use_id = "mthreads.ai/use-gpuuuid",
       .nouse_id = "mthreads.ai/nouse-gpuuuid",
       .memory_resource = "mthreads.com/sgpu-memory",
       .cores_resource = "mthreads.com/sgpu-core",
       .memory_factor = 512,
       .install = InstallMthreads,
       .publish = PublishMthreads,
       .ask = AskMthreads});
  add({.key = "Vastai",
       .allocated = "hami.io/Vastai-devices-allocated",
       .use_id = "vastaitech.com/use-gpuuuid",
       .nouse_id = "vastaitech.com/nouse-gpuuuid",
       .memory = false,
       .cores = false,
       .tells_health = true,
       .install = InstallVastai,
       .publish = PublishVastai,
       .ask = AskVastai});
  for (const char* word : {"MR-V100", "MR-V50", "BI-V150", "BI-V100"}) {
    const std::string key = word, prefix = "iluvatar.ai/" + key;
    add({.key = key,
         .allocated = "hami.io/" + key + "-devices-allocated",
         .use_id = "hami.io/use-" + key + "-uuid",
         .nouse_id = "hami.io/no-use-" + key + "-uuid",
         .memory_resource = prefix + ".vMem",
         .cores_resource = prefix + ".vCore",
         .memory_factor = 256,
         .exclusive = true,
         .tells_health = true,
         .install = InstallShared,
         .publish = PublishIluvatar,
         .ask = AskIluvatar});
  }
  for (const char* word : {"Ascend910A", "Ascend910B2", "Ascend910B3", "Ascend910B4-1",
                           "Ascend910B4", "Ascend310P", "Ascend910C"}) {
    const std::string key = word, name = "huawei.com/" + key;
    add({.key = key,
         .allocated = "hami.io/" + key + "-devices-allocated",
         .use_id = "hami.io/use-" + key + "-uuid",
         .nouse_id = "hami.io/no-use-" + key + "-uuid",
         .memory_resource = name + "-memory",
         .cores_resource = name + "-core",
         .exclusive = true,
         .tells_health = true,
         .install = InstallAscend,
         .publish = PublishAscend,
         .ask = AskAscend,
         .annotate = AnnotateAscend});
  }
  return all;
}

}  // namespace

const Card* Host::Find(const std::string& vendor, const std::string& id) const {
  for (const Card& card : cards)
    if (card.vendor == vendor && card.id == id) return &card;
  return nullptr;
}

const std::map<std::string, Hardware>& AllHardware() {
  static const std::map<std::string, Hardware> all = MakeAll();
  return all;
}

void Publish(Host& host) {
  for (const auto& [key, hardware] : AllHardware())
    if (CountCards(hardware, host) > 0) hardware.publish(hardware, host);
}

}  // namespace aliquot::property
