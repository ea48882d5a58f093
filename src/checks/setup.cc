// What is installed around the scheduler: API server, device plugins, webhooks, DRA drivers.
#include <algorithm>
#include <optional>
#include <set>

#include "aliquot/base/strings.h"
#include "checks/check.h"

namespace aliquot::checks {
namespace {

using enum Severity;

struct Version {
  int64_t major = 0;
  int64_t minor = 0;

  auto operator<=>(const Version&) const = default;
};
constexpr Version kOldestServer{1, 25};
constexpr Version kNewestServer{1, 37};
constexpr Version kHami{2, 10};  // whose annotations we read and write
// The name of both HAMi's webhook and ours.
constexpr std::string_view kWebhook = "vgpu.hami.io";

// Of "v1.33.1-gke.7" or "v2.10".
std::optional<Version> ParseVersion(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const std::vector<std::string_view> parts = Split(text, '.');
  if (parts.size() < 2) return std::nullopt;
  const auto major = ParseInt64(parts[0]);
  const auto minor = ParseInt64(parts[1].substr(0, parts[1].find_first_not_of("0123456789")));
  if (!major || !minor) return std::nullopt;
  return Version{*major, *minor};
}

// The tag of an image of HAMi itself; no value: another image.
std::optional<std::string> HamiTag(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const size_t slash = image.rfind('/');
  const std::string_view last = slash == std::string_view::npos ? image : image.substr(slash + 1);
  const size_t colon = last.find(':');
  if (last.substr(0, colon) != "hami") return std::nullopt;
  return std::string(colon == std::string_view::npos ? "" : last.substr(colon + 1));
}

}  // namespace

void CheckServerVersion(const Cluster& cluster, Findings& findings) {
  const std::string& text = cluster.read.server_version;
  const std::optional<Version> version = ParseVersion(text);
  if (version && *version >= kOldestServer && *version <= kNewestServer) return;
  findings.Add(kWarning, "API server",
               version ? "Kubernetes " + text + " is outside of 1.25 to 1.37"
                       : "its version \"" + text + "\" cannot be read",
               "Nobody has tried the scheduler with it.");
}

void CheckDevicePlugins(const Cluster& cluster, Findings& findings) {
  for (const kube::DaemonSet& set : cluster.read.daemon_sets) {
    const std::string object = "daemonset " + set.meta.ns + "/" + set.meta.name;
    std::set<std::string> tags;  // plugin and monitor have the same one
    for (const std::string& image : set.images)
      if (std::optional<std::string> tag = HamiTag(image)) tags.insert(*std::move(tag));
    for (const std::string& tag : tags) {
      const std::optional<Version> version = ParseVersion(tag);
      if (version == kHami) continue;
      if (version)
        findings.Add(kWarning, object,
                     "it is HAMi " + tag + ", and the scheduler speaks to device plugins as v2.10",
                     "Bring HAMi's device plugin to v2.10 before the move.");
      else
        findings.Add(kNote, object, "the tag \"" + tag + "\" of HAMi's image tells no version",
                     "The scheduler speaks to device plugins as HAMi v2.10: see that it is one.");
    }
  }
}

void CheckWebhooks(const Cluster& cluster, Findings& findings) {
  std::vector<std::string> registered;
  for (const kube::MutatingWebhookConfiguration& configuration : cluster.read.webhooks)
    if (std::ranges::any_of(configuration.webhooks, [](const kube::MutatingWebhook& webhook) {
          return webhook.name == kWebhook && webhook.sees_new_pods;
        }))
      registered.push_back(configuration.meta.name);
  std::ranges::sort(registered);
  if (registered.empty())
    findings.Add(kNote, "mutatingwebhookconfigurations",
                 "none has the webhook " + std::string(kWebhook),
                 "Pods with devices have to name the scheduler themselves, and annotations of "
                 "theirs that only the scheduler may write are not removed.");
  if (registered.size() > 1)
    findings.Add(kWarning, "mutatingwebhookconfigurations",
                 Join(registered, ", ") + " all have the webhook " + std::string(kWebhook) +
                     ": a new pod goes through each",
                 "Keep that of the scheduler that is to decide, and delete the others (after a "
                 "move: HAMi's).");
}

void CheckDeviceClasses(const Cluster& cluster, Findings& findings) {
  std::set<std::string, std::less<>> ours;
  for (const core::Vendor& vendor : cluster.registry.vendors())
    ours.insert({vendor.config().count_name, vendor.config().memory_name,
                 vendor.config().memory_percentage_name, vendor.config().cores_name});
  ours.erase("");
  for (const kube::DeviceClass& device_class : cluster.read.device_classes)
    if (ours.contains(device_class.extended_resource))
      findings.Add(kError, "deviceclass " + device_class.meta.name,
                   "its extendedResourceName is " + device_class.extended_resource +
                       ": kube-scheduler gives pods that ask for it to the DRA driver and to the "
                       "extender",
                   "Use different resource names, or take extendedResourceName away.");
}

}  // namespace aliquot::checks
