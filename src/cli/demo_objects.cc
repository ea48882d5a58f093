#include "cli/demo_objects.h"

#include <vector>

#include "aliquot/base/strings.h"
#include "aliquot/config/suggest.h"
#include "cli/examples.h"

namespace aliquot::cli {
namespace {

constexpr std::string_view kSeparator = "---\n";

std::vector<std::string> VendorNames() {
  std::vector<std::string> names;
  for (const Example& example : Examples()) names.emplace_back(example.vendor);
  return names;
}

std::vector<std::string_view> DocumentsOf(std::string_view manifests) {
  std::vector<std::string_view> documents;
  for (size_t begin = 0; begin < manifests.size();) {
    const size_t end = std::min(manifests.find("\n---\n", begin), manifests.size() - 1) + 1;
    documents.push_back(manifests.substr(begin, end - begin));
    begin = end + kSeparator.size();
  }
  return documents;
}

void Append(std::string_view document, std::string& text) {
  if (!text.empty()) text += kSeparator;
  text += document;
}

void AddExample(const Example& example, DemoObjects& objects) {
  Append(example.manifests, objects.all);
  for (const std::string_view document : DocumentsOf(example.manifests))
    Append(document, Contains(document, "\nkind: Node\n") ? objects.nodes : objects.pods);
}

}  // namespace

Result<DemoObjects> ObjectsOf(std::string_view vendor) {
  DemoObjects objects;
  for (const Example& example : Examples())
    if (vendor == example.vendor || vendor == kAllVendors) AddExample(example, objects);
  if (!objects.all.empty()) return objects;
  std::vector<std::string> known = VendorNames();
  known.emplace_back(kAllVendors);
  return InvalidError("unknown vendor \"" + std::string(vendor) + "\"" +
                      config::Suggestion(vendor, known) + "; there are " + KnownVendors());
}

std::string KnownVendors() { return Join(VendorNames(), ", ") + " or " + std::string(kAllVendors); }

}  // namespace aliquot::cli
