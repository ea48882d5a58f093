// What nodes say of their cards, and whether somebody is there to say it.
#include <chrono>
#include <set>
#include <utility>

#include "aliquot/base/time_text.h"
#include "aliquot/codec/handshake.h"
#include "aliquot/codec/node_lock.h"
#include "checks/check.h"

namespace aliquot::checks {
namespace {

using enum Severity;

// Both as the scheduler's own defaults: a living plugin answers within half a minute, and a
// lock is held for seconds.
constexpr auto kAnswersWithin = std::chrono::minutes(5);
constexpr auto kLongestLock = std::chrono::minutes(5);

std::string Age(WallTime then, WallTime now) {
  return FormatGoDuration(std::chrono::duration_cast<std::chrono::seconds>(now - then));
}

// Why the lock's pod will not release it, or empty.
std::string OwnerGone(const codec::NodeLock& lock, const std::vector<kube::Pod>& pods) {
  if (lock.ns.empty() || lock.name.empty()) return "";
  for (const kube::Pod& pod : pods)
    if (pod.meta.ns == lock.ns && pod.meta.name == lock.name)
      return pod.terminal() ? ", which has finished" : "";
  return ", which does not exist";
}

void CheckNodeLock(const kube::Node& node, std::string_view key, const Snapshot& read,
                   Findings& findings) {
  const std::string* text = Find(node.meta.annotations, key);
  if (text == nullptr) return;
  const std::string object = "node " + node.meta.name;
  const std::string advice = "Look at the node's device plugin; then `aliquot unlock " +
                             node.meta.name +
                             "`. The next pod takes it over after "
                             "--node-lock-timeout.";
  const Result<codec::NodeLock> lock = codec::ParseNodeLock(*text);
  if (!lock) {
    findings.Add(kWarning, object,
                 std::string(key) + " is \"" + *text + "\", which is no lock that can be read",
                 advice);
    return;
  }
  const std::string gone = OwnerGone(*lock, read.pods);
  if (gone.empty() && read.now - lock->time < kLongestLock) return;
  const std::string owner = lock->name.empty() ? "" : " for pod " + lock->ns + "/" + lock->name;
  findings.Add(kWarning, object,
               std::string(key) + " has been held for " + Age(lock->time, read.now) + owner + gone,
               advice);
}

}  // namespace

void CheckRegistration(const Cluster& cluster, Findings& findings) {
  for (const auto& [node, cards] : cluster.cards)
    for (const NodeCards::Unreadable& unreadable : cards.unreadable)
      findings.Add(kError, "node " + std::string(node),
                   std::string(unreadable.annotation) + " cannot be read: " + unreadable.problem,
                   "Look at the node's device plugin, which writes it; until then the node takes "
                   "no pods for these cards.");
}

void CheckHandshakes(const Cluster& cluster, Findings& findings) {
  using Kind = codec::Handshake::Kind;
  for (const kube::Node& node : cluster.read.nodes) {
    std::set<std::string_view> keys;  // vendors may share one
    for (const core::Vendor& vendor : cluster.registry.vendors()) {
      const core::VendorSpec& spec = vendor.spec();
      if (spec.node_handshake.empty() || !keys.insert(spec.node_handshake).second ||
          Find(node.meta.annotations, spec.node_register) == nullptr)
        continue;
      const std::string* text = Find(node.meta.annotations, spec.node_handshake);
      const codec::Handshake handshake = codec::ParseHandshake(text);
      const std::string object = "node " + node.meta.name;
      const std::string key(spec.node_handshake);
      if (handshake.kind == Kind::kRequestingUnreadable)
        findings.Add(kWarning, object, key + " cannot be read: \"" + *text + "\"",
                     "The scheduler writes it anew; the next answer of the device plugin ends it.");
      if (handshake.kind == Kind::kRequesting && cluster.read.now - handshake.time > kAnswersWithin)
        findings.Add(kWarning, object,
                     key + ": the device plugin has not answered for " +
                         Age(handshake.time, cluster.read.now),
                     "See whether the device plugin runs on the node. HAMi writes this time "
                     "without its zone; with TZ set it may only look old.");
    }
  }
}

void CheckNodeLocks(const Cluster& cluster, Findings& findings) {
  for (const kube::Node& node : cluster.read.nodes)
    for (const std::string_view key : {codec::kNodeLockKey, codec::kCambriconLockKey})
      CheckNodeLock(node, key, cluster.read, findings);
}

}  // namespace aliquot::checks
