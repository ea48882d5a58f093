// The checker finds what it is there for: every rule is broken once.
#include "property/checker.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace aliquot::property {
namespace {

struct Broken {
  std::string fault;  // as it is told
  std::vector<Card> cards;
  std::vector<Resident> residents;
  Quotas quotas = {};
  StringMap labels = {};
};

Card CardOf(const std::string& vendor, const std::string& id, int64_t index = 0) {
  Card card{vendor, id, vendor};
  card.index = index;
  card.slots = 2;
  card.memory = 1000;
  card.cores = 100;
  return card;
}

Card With(Card card, const std::string& group, int64_t cores = 100) {
  card.group = group;
  card.cores = cores;
  return card;
}

std::vector<Card> Cards(const std::string& vendor, const std::vector<int64_t>& indexes) {
  std::vector<Card> cards;
  for (const int64_t index : indexes)
    cards.push_back(CardOf(vendor, "c" + std::to_string(index), index));
  return cards;
}

Card CutUp() {
  Card card = CardOf("NVIDIA", "m");
  card.mode = "mig";
  card.profiles = {{"1g", 100, 10, 1, {{0, 1}, {1, 1}}}};
  return card;
}

// The counts are as the text has them, of containers that all are apps.
Resident Pod(const std::string& uid, const std::string& vendor, const std::string& text,
             StringMap annotations = {}) {
  Resident pod{uid, "team", "h", {}, false, std::move(annotations), {}};
  pod.annotations[AllHardware().at(vendor).allocated] = text;
  int64_t shares = 0;
  for (const char c : text) {
    shares += c == ':' ? 1 : 0;
    if (c != ';') continue;
    pod.kinds.push_back(Kind::kApp);
    pod.counts.push_back({{vendor, shares}});
    shares = 0;
  }
  return pod;
}

StringMap Instance(const std::string& start) {
  return {{"hami.io/vgpu-mig-allocations",
           R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"m","profile":"1g","placement":)"
           R"({"start":)" +
               start + R"(,"size":1}}])"}};
}

bool Tells(const std::vector<std::string>& faults, const std::string& fault) {
  return std::any_of(faults.begin(), faults.end(), [&](const std::string& line) {
    return line.find(fault) != std::string::npos;
  });
}

TEST(Checker, FindsWhatIsGivenTwice) {
  const Card neuron = With(CardOf("AWSNeuron", "c"), "", 3);
  const Broken rows[] = {
      {"slots 3 of 2",
       {CardOf("DCU", "c")},
       {Pod("a", "DCU", "c,DCU,1,1:;c,DCU,1,1:;c,DCU,1,1:;")}},
      {"memory 1001 of 1000",
       {CardOf("DCU", "c")},
       {Pod("a", "DCU", "c,DCU,600,1:;"), Pod("b", "DCU", "c,DCU,401,1:;")}},
      {"cores 101 of 100",
       {CardOf("DCU", "c")},
       {Pod("a", "DCU", "c,DCU,1,50:;"), Pod("b", "DCU", "c,DCU,1,51:;")}},
      {"not alone with all cores",
       {CardOf("DCU", "c")},
       {Pod("a", "DCU", "c,DCU,1,100:;"), Pod("b", "DCU", "c,DCU,1,0:;")}},
      {"cores given to two pods",
       {neuron},
       {Pod("a", "AWSNeuron", "c,AWSNeuron,0,1:;"), Pod("b", "AWSNeuron", "c,AWSNeuron,0,1:;")}},
      {"beside 1", {neuron}, {Pod("a", "AWSNeuron", "c,AWSNeuron,0,1:;c,AWSNeuron,0,1:;")}},
      {"parts of two sizes",
       {CardOf("XPU", "c")},
       {Pod("a", "XPU", "c,XPU,100,25:;"), Pod("b", "XPU", "c,XPU,200,50:;")}},
      {"a class beside none",
       {CardOf("Metax-SGPU", "c")},
       {Pod("a", "Metax-SGPU", "c,M,1,1:;", {{"metax-tech.com/sgpu-app-class", "offline"}}),
        Pod("b", "Metax-SGPU", "c,M,1,1:;")}},
      {"two QoS",
       {CardOf("Metax-SGPU", "c")},
       {Pod("a", "Metax-SGPU", "c,M,1,1:;", {{"metax-tech.com/sgpu-qos-policy", "best-effort"}}),
        Pod("b", "Metax-SGPU", "c,M,1,1:;", {{"metax-tech.com/sgpu-qos-policy", "fixed-share"}})}},
      {"whole and in parts",
       {CardOf("GCU", "g"), CardOf("Enflame", "e")},
       {Pod("a", "GCU", "g,GCU,100,100:;"), Pod("b", "Enflame", "e,Enflame,1,1:;")}},
      {"instances lie on each other",
       {CutUp()},
       {Pod("a", "NVIDIA", "m,N,100,10:;", Instance("0")),
        Pod("b", "NVIDIA", "m,N,100,10:;", Instance("0"))}},
      {"no place for 1g", {CutUp()}, {Pod("a", "NVIDIA", "m,N,100,10:;", Instance("2"))}},
      {"without an instance", {CutUp()}, {Pod("a", "NVIDIA", "m,N,100,10:;")}},
      {"is not cut up", {CardOf("NVIDIA", "m")}, {Pod("a", "NVIDIA", "m,N,1,1:;", Instance("0"))}},
      {"hygon.com/dcumem 101 of 100",
       {CardOf("DCU", "c")},
       {Pod("a", "DCU", "c,DCU,101,1:;")},
       {{"team", {{"hygon.com/dcumem", 100}}}}},
  };
  for (const Broken& row : rows) {
    std::vector<Card> cards = row.cards;
    for (Card& card : cards)
      if (card.vendor == "Enflame") card.profiles = {{"1g", 1, 1, 1}};
    EXPECT_TRUE(Tells(Faults({{"h", cards}}, row.residents, row.quotas), row.fault)) << row.fault;
  }
}

TEST(Checker, FindsNothingWhereAllIsWell) {
  const std::vector<Host> hosts = {{"h", {CardOf("DCU", "c"), CutUp()}}};
  Resident init = Pod("i", "DCU", "c,DCU,900,90:;c,DCU,500,50:;");
  init.kinds[0] = Kind::kInit;  // over before the other one begins
  EXPECT_EQ(Faults(hosts,
                   {init, Pod("a", "DCU", "c,DCU,100,10:;"),
                    Pod("b", "NVIDIA", "m,N,100,10:;", Instance("0")),
                    Pod("c", "NVIDIA", "m,N,100,10:;", Instance("1"))},
                   {{"team", {{"hygon.com/dcumem", 1000}}}}),
            std::vector<std::string>());
}

TEST(Checker, FindsWhatIsChosenBadly) {
  const auto shares = [](const std::string& vendor, const std::vector<std::string>& ids) {
    std::string text;
    for (const std::string& id : ids) text += id + "," + vendor + ",1,100:";
    return text + ";";
  };
  Card broken = CardOf("DCU", "c");
  broken.healthy = false;
  std::vector<Card> linked = Cards("NVIDIA", {0, 1, 2});
  linked[0].links = {{"c1", 1}, {"c2", 5}};
  linked[1].links = {{"c0", 1}, {"c2", 1}};
  linked[2].links = {{"c0", 5}, {"c1", 1}};
  const std::vector<Card> zones = {
      With(CardOf("Metax-SGPU", "a1"), "a"), With(CardOf("Metax-SGPU", "a2"), "a"),
      With(CardOf("Metax-SGPU", "b1"), "b"), With(CardOf("Metax-SGPU", "b2"), "b"),
      With(CardOf("Metax-SGPU", "c1"), "")};
  const std::vector<Card> eight = Cards("kunlun", {0, 1, 2, 3, 4, 5, 6, 7});
  const std::vector<Card> devices = Cards("AWSNeuron", {0, 1, 2, 3, 4, 5});
  const StringMap ring = {{"node.kubernetes.io/instance-type", "inf2.24xlarge"}};
  const StringMap use = {{"hygon.com/use-gpuuuid", "d"}};
  const StringMap nouse = {{"hygon.com/nouse-gpuuuid", "c"}};
  const StringMap by_links = {{"hami.io/gpu-scheduler-policy", "topology-aware"}};
  const StringMap numa = {{"nvidia.com/numa-bind", "true"}};
  linked[1].numa = 1;
  const Broken rows[] = {
      {"there is no such card", {}, {Pod("a", "DCU", "c,DCU,1,1:;")}},
      {"out of order", {broken}, {Pod("a", "DCU", "c,DCU,1,1:;")}},
      {"twice in a container", {CardOf("DCU", "c")}, {Pod("a", "DCU", "c,DCU,1,1:c,DCU,1,1:;")}},
      {"not among those to use", {CardOf("DCU", "c")}, {Pod("a", "DCU", "c,DCU,1,1:;", use)}},
      {"not to be used", {CardOf("DCU", "c")}, {Pod("a", "DCU", "c,DCU,1,1:;", nouse)}},
      {"two NUMA nodes", linked, {Pod("a", "NVIDIA", shares("NVIDIA", {"c0", "c1"}), numa)}},
      {"worse links", linked, {Pod("a", "NVIDIA", shares("NVIDIA", {"c0", "c1"}), by_links)}},
      {"halves of modules",
       Cards("Ascend910C", {0, 1, 2}),
       {Pod("a", "Ascend910C", shares("A", {"c1", "c2"}))}},
      {"not connected", eight, {Pod("a", "kunlun", shares("k", {"c0", "c5"}))}},
      {"across the wings", eight, {Pod("a", "kunlun", shares("k", {"c0", "c4"}))}},
      {"no neighbours", devices, {Pod("a", "AWSNeuron", shares("A", {"c0", "c2"}))}, {}, ring},
      {"no block of devices",
       devices,
       {Pod("a", "AWSNeuron", shares("A", {"c1", "c2", "c3", "c4"}))}},
      {"several groups", zones, {Pod("a", "Metax-SGPU", shares("M", {"a1", "b1"}))}},
      {"without a group before others", zones, {Pod("a", "Metax-SGPU", shares("M", {"a1", "c1"}))}},
      {"several cards for one pod",
       Cards("Mthreads", {0, 1}),
       {Pod("a", "Mthreads", shares("M", {"c0"}) + shares("M", {"c1"}))}},
  };
  for (const Broken& row : rows) {
    const Host host{"h", row.cards, {}, {}, row.labels};
    EXPECT_TRUE(Tells(FaultsOfChoice(host, {}, row.residents[0], {}), row.fault)) << row.fault;
  }
  Resident fewer = Pod("a", "DCU", "c,DCU,1,1:;");
  fewer.counts[0]["DCU"] = 2;
  EXPECT_TRUE(Tells(FaultsOfChoice({"h", {CardOf("DCU", "c")}}, {}, fewer, {}), "1 shares of 2"));
  const Resident mutex =
      Pod("a", "DCU", "c,DCU,1,1:;", {{"hami.io/gpu-scheduler-policy", "spread,mutex"}});
  EXPECT_TRUE(Tells(
      FaultsOfChoice({"h", {CardOf("DCU", "c")}}, {Pod("b", "DCU", "c,DCU,1,1:;")}, mutex, {}),
      "in use under mutex"));
}

}  // namespace
}  // namespace aliquot::property
