#include "cli/demo_report.h"

#include <map>
#include <optional>

#include "aliquot/base/strings.h"
#include "cli/card_units.h"
#include "cli/demo_words.h"

namespace aliquot::cli {
namespace {

std::string Of(int64_t used, int64_t total) {
  return std::to_string(used) + "/" + std::to_string(total);
}

// An amount in a bar; "-" where nothing is counted.
std::string BarOf(const std::optional<Amount>& amount, int width, const Screen& screen) {
  if (!amount || amount->total == 0) return "-";
  return screen.Bar(amount->used, amount->total, width) + " " + Of(amount->used, amount->total) +
         " " + std::string(amount->unit);
}

std::string MemoryBar(const std::optional<Amount>& memory, const Screen& screen) {
  return BarOf(memory, 16, screen);
}

std::string CoresBar(const std::optional<Amount>& cores, const Screen& screen) {
  return BarOf(cores, 10, screen);
}

// Amounts of cards, which cannot be added if their units differ.
class Sum {
 public:
  void Add(const std::optional<Amount>& amount) {
    if (!amount) return;
    mixed_ = mixed_ || (sum_ && sum_->unit != amount->unit);
    if (!sum_) sum_ = Amount{0, 0, amount->unit};
    sum_->used += amount->used;
    sum_->total += amount->total;
  }
  std::optional<Amount> Total() const { return mixed_ ? std::nullopt : sum_; }

 private:
  std::optional<Amount> sum_;
  bool mixed_ = false;
};

void WriteNodes(const std::vector<core::NodeUsage>& nodes, const std::vector<kube::Pod>& pods,
                const core::Registry& registry, const Screen& screen) {
  std::map<std::string, int> pods_on;
  for (const kube::Pod& pod : pods) pods_on[pod.node_name] += pod.terminal() ? 0 : 1;
  Table table({"NODE", "CARDS", "PODS", "SHARES", "MEMORY", "CORES"});
  for (const core::NodeUsage& node : nodes) {
    int64_t used_slots = 0, slots = 0;
    Sum memory, cores;
    for (size_t i = 0; i < node.devices().size(); ++i) {
      const core::Device& card = node.devices()[i];
      const core::DeviceUse& use = node.use()[i];
      used_slots += use.slots;
      slots += card.slots;
      memory.Add(MemoryOf(registry[card.vendor], card, use.memory));
      cores.Add(CoresOf(registry[card.vendor], card, use.cores));
    }
    table.Add({node.name(), std::to_string(node.devices().size()),
               std::to_string(pods_on[node.name()]), Of(used_slots, slots),
               MemoryBar(memory.Total(), screen), CoresBar(cores.Total(), screen)});
  }
  table.Write(screen);
}

void WriteCards(const std::vector<core::NodeUsage>& nodes, const core::Registry& registry,
                const Screen& screen) {
  Table table({"NODE", "CARD", "MODEL", "SHARES", "MEMORY", "CORES"});
  for (const core::NodeUsage& node : nodes) {
    for (size_t i = 0; i < node.devices().size(); ++i) {
      const core::Device& card = node.devices()[i];
      const core::DeviceUse& use = node.use()[i];
      table.Add({node.name(), std::to_string(card.index), card.type, Of(use.slots, card.slots),
                 MemoryBar(MemoryOf(registry[card.vendor], card, use.memory), screen),
                 CoresBar(CoresOf(registry[card.vendor], card, use.cores), screen)});
    }
  }
  table.Write(screen);
}

const char* PhaseName(const kube::Pod& pod) {
  switch (pod.phase) {
    case kube::PodPhase::kPending:
      return "Pending";
    case kube::PodPhase::kRunning:
      return "Running";
    case kube::PodPhase::kSucceeded:
      return "Succeeded";
    case kube::PodPhase::kFailed:
      return "Failed";
    case kube::PodPhase::kUnknown:
      break;
  }
  return "Unknown";
}

void WritePods(const std::vector<kube::Pod>& pods, const Sandbox& sandbox, const Screen& screen) {
  Table table({"POD", "PHASE", "NODE", "ALLOCATED (annotation, for the device plugin)"});
  for (const kube::Pod& pod : pods) {
    std::vector<std::string> texts;
    for (const core::Vendor& vendor : sandbox.registry().vendors())
      if (const auto* text = Find(pod.meta.annotations, vendor.spec().allocated))
        texts.push_back(*text);
    table.Add({NameOf(pod), PhaseName(pod), pod.node_name.empty() ? "-" : pod.node_name,
               texts.empty() ? "-" : Join(texts, " ")});
  }
  table.Write(screen);
}

// "a, b, c and 7 more"
std::string Listed(const std::vector<std::string>& names) {
  constexpr size_t kShown = 4;
  if (names.size() <= kShown) return Join(names, ", ");
  return Join({names.begin(), names.begin() + kShown}, ", ") + " and " +
         std::to_string(names.size() - kShown) + " more";
}

void WriteWaiting(const Attempt& attempt, const Sandbox& sandbox, const Screen& screen) {
  screen.out() << NameOf(attempt.pod) << " asks for "
               << WishInWords(attempt.pod, sandbox.registry()) << "\n";
  if (!attempt.error.empty()) screen.out() << "  error: " << attempt.error << "\n";
  std::map<std::string, std::vector<std::string>> nodes;  // by refusal
  for (const auto& [node, refusal] : attempt.refusals) nodes[refusal].push_back(node);
  Table table({"  NODES", "IN PLAIN WORDS", "IN THE ANSWER TO KUBE-SCHEDULER"});
  for (const auto& [refusal, names] : nodes)
    table.Add({"  " + Listed(names), RefusalInWords(refusal), refusal});
  if (!nodes.empty()) table.Write(screen);
}

}  // namespace

void WriteReport(Sandbox& sandbox, const std::vector<Attempt>& attempts, const Screen& screen) {
  std::vector<core::NodeUsage> nodes;
  for (const kube::Node& node : sandbox.Nodes())
    if (auto usage = sandbox.ledger().Node(node.meta.name)) nodes.push_back(*std::move(usage));
  const std::vector<kube::Pod> pods = sandbox.Pods();

  std::ostream& out = screen.out();
  out << "\n" << screen.Bold("Nodes") << "\n\n";
  WriteNodes(nodes, pods, sandbox.registry(), screen);
  out << "\n" << screen.Bold("Cards") << "\n\n";
  WriteCards(nodes, sandbox.registry(), screen);
  out << "\n" << screen.Bold("Pods") << "\n\n";
  WritePods(pods, sandbox, screen);
  for (const Attempt& attempt : attempts) {
    if (!attempt.node.empty()) continue;
    out << "\n" << screen.Bold("Waiting: ");
    WriteWaiting(attempt, sandbox, screen);
  }
}

}  // namespace aliquot::cli
