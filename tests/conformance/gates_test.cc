// Every gate of every vendor is defended by the vendor's own cases: taken out of
// the table, at least one of them fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aliquot/base/log.h"
#include "conformance/player.h"

namespace aliquot::conformance {
namespace {

// The folder of the vendor's cases.
std::string FolderOf(std::string_view key) {
  static const std::map<std::string_view, std::string> kFolders = {
      {"AMD", "amd"},         {"AWSNeuron", "awsneuron"}, {"Biren", "biren"},
      {"MLU", "cambricon"},   {"Enflame", "enflame"},     {"GCU", "enflame"},
      {"DCU", "hygon"},       {"XPU", "kunlun"},          {"kunlun", "kunlun"},
      {"Metax-GPU", "metax"}, {"Metax-SGPU", "metax"},    {"Mthreads", "mthreads"},
      {"NVIDIA", "nvidia"},   {"Vastai", "vastai"}};
  if (key.starts_with("Ascend")) return "ascend";
  if (key.starts_with("MR-") || key.starts_with("BI-")) return "iluvatar";
  return kFolders.at(key);
}

// A gate of one vendor, or of all the chips of a maker, which have one table.
struct GateInTable {
  std::string folder;
  std::vector<std::string> keys;
  size_t position = 0;
};

void PrintTo(const GateInTable& gate, std::ostream* out) {
  *out << "gate " << gate.position << " of " << gate.keys.front();
}

std::vector<GateInTable> AllGates() {
  using Table = std::pair<const core::Gate*, size_t>;
  std::map<std::pair<std::string, Table>, std::vector<std::string>> tables;
  const core::Registry registry = DefaultVendors();
  for (const core::Vendor& vendor : registry.vendors()) {
    const std::span<const core::Gate> gates = vendor.spec().gates;
    tables[{FolderOf(vendor.key()), {gates.data(), gates.size()}}].emplace_back(vendor.key());
  }
  std::vector<GateInTable> all;
  for (const auto& [table, keys] : tables)
    for (size_t position = 0; position < table.second.second; ++position)
      all.push_back({table.first, keys, position});
  return all;
}

core::Vendor WithoutGate(const core::Vendor& vendor, size_t position) {
  struct Weakened {
    core::Vendor whole;  // keeps the texts alive
    core::VendorSpec spec;
    std::vector<core::Gate> gates;
  };
  auto weakened = std::make_shared<Weakened>(Weakened{vendor, vendor.spec(), {}});
  weakened->gates.assign(vendor.spec().gates.begin(), vendor.spec().gates.end());
  weakened->gates.erase(weakened->gates.begin() + static_cast<std::ptrdiff_t>(position));
  weakened->spec.gates = weakened->gates;
  const core::VendorSpec* spec = &weakened->spec;
  return {std::shared_ptr<const core::VendorSpec>(std::move(weakened), spec), vendor.config()};
}

core::Registry WithoutGate(const core::Registry& registry, const GateInTable& gate) {
  std::vector<core::Vendor> vendors;
  for (const core::Vendor& vendor : registry.vendors())
    vendors.push_back(std::count(gate.keys.begin(), gate.keys.end(), vendor.key()) > 0
                          ? WithoutGate(vendor, gate.position)
                          : vendor);
  return core::Registry(std::move(vendors));
}

// Those that see a refusal first: they are the likely ones.
std::vector<nlohmann::json> CasesOf(const std::string& folder) {
  std::vector<nlohmann::json> cases;
  for (const std::string& name : CaseNames())
    if (name.starts_with(folder + "/") && !IsPending(name)) cases.push_back(ReadCase(name));
  std::stable_partition(cases.begin(), cases.end(), [](const nlohmann::json& test) {
    return test["steps"].dump().find("\"failed\":{\"") != std::string::npos;
  });
  return cases;
}

class GateTest : public ::testing::TestWithParam<GateInTable> {
 protected:
  static void SetUpTestSuite() {
    log::Options quiet;
    quiet.file = "/dev/null";
    log::SetUp(quiet);
  }
};

TEST_P(GateTest, IsMissedByACaseOfItsVendor) {
  const GateInTable& gate = GetParam();
  const ChangeVendors change = [&](const core::Registry& registry) {
    return WithoutGate(registry, gate);
  };
  const std::vector<nlohmann::json> cases = CasesOf(gate.folder);
  EXPECT_TRUE(std::any_of(cases.begin(), cases.end(),
                          [&](const nlohmann::json& test) { return !Play(test, change).empty(); }))
      << "no case in " << gate.folder << " fails without gate " << gate.position << " (from 0) of "
      << gate.keys.front();
}

INSTANTIATE_TEST_SUITE_P(Tables, GateTest, ::testing::ValuesIn(AllGates()),
                         [](const auto& param_info) {
                           std::string name = param_info.param.keys.front() + "_" +
                                              std::to_string(param_info.param.position);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace aliquot::conformance
