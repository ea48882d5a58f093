#include "cli/unlock_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

#include "aliquot/base/string_map.h"
#include "aliquot/base/time_text.h"
#include "aliquot/codec/node_lock.h"
#include "aliquot/kube/client.h"
#include "cli/build_info.h"

namespace aliquot::cli {
namespace {

// The node may be written by others between a look and a patch: that often.
constexpr int kTries = 5;

StringMap LocksOf(const kube::Node& node) {
  StringMap locks;
  for (const std::string_view key : {codec::kNodeLockKey, codec::kCambriconLockKey})
    if (const std::string* text = Find(node.meta.annotations, key)) locks.emplace(key, *text);
  return locks;
}

std::string PhaseOf(const kube::Pod& pod) {
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
  return "of unknown phase";
}

// What has become of the pod: "Running on node gpu-17".
std::string DescribeOwner(kube::Api& api, const codec::NodeLock& lock) {
  const Result<kube::Pod> pod = api.GetPod(lock.ns, lock.name, {});
  if (!pod && pod.error().code == ErrorCode::kNotFound) return "does not exist";
  if (!pod) return "could not be read: " + pod.error().message;
  return "is " + PhaseOf(*pod) +
         (pod->node_name.empty() ? ", on no node" : ", on node " + pod->node_name) +
         (pod->meta.terminating ? ", being deleted" : "");
}

std::string DescribeLock(kube::Api& api, const std::string& text, WallTime now) {
  const Result<codec::NodeLock> lock = codec::ParseNodeLock(text);
  if (!lock) return "\"" + text + "\", which is no lock that anybody can read";
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - lock->time);
  const std::string since =
      "since " + FormatRfc3339(lock->time) + " (" + FormatGoDuration(age) + ")";
  if (lock->ns.empty() || lock->name.empty()) return since + ", of a pod that it does not name";
  return since + ", of pod " + lock->ns + "/" + lock->name + ", which " + DescribeOwner(api, *lock);
}

bool Confirmed(std::istream& answers, std::ostream& out) {
  out << "Remove? [y/N] " << std::flush;
  std::string answer;
  std::getline(answers, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

Result<kube::Node> Remove(kube::Api& api, const kube::Node& node, const StringMap& locks) {
  kube::MetadataPatch patch;
  patch.resource_version = node.meta.resource_version;  // nobody takes the lock meanwhile
  for (const auto& [key, text] : locks) patch.annotations[key] = std::nullopt;
  return api.PatchNode(node.meta.name, patch.ToJson(), {});
}

struct Flags {
  std::string node;
  bool yes = false;
};

void Define(CLI::App& app, Flags& flags) {
  app.add_option("NODE", flags.node, "name of the node")->required();
  app.add_flag("-y,--yes", flags.yes, "do not ask");
}

std::string Help(std::string_view program) {
  Flags flags;
  CLI::App app(
      "Removes the lock of a node whose device plugin does not give it back. Shows since\n"
      "when the node is locked and what has become of the pod, and asks. While a device\n"
      "plugin still works for that pod, it may hand its devices to another one: look at the\n"
      "plugin first. A lock that is taken meanwhile stays.",
      std::string(program));
  Define(app, flags);
  return app.help();
}

int Run(const Invocation& invocation) {
  Flags flags;
  CLI::App app;
  Define(app, flags);
  std::vector<std::string> args(invocation.args.rbegin(), invocation.args.rend());
  try {
    app.parse(std::move(args));
  } catch (const CLI::ParseError& problem) {
    return UsageError(invocation, problem.what());
  }
  if (!flags.yes && isatty(STDIN_FILENO) == 0)
    return UsageError(invocation, "there is nobody to ask: say --yes");
  Result<kube::ClientConfig> config = kube::LoadClientConfig(kube::ProcessEnvironment());
  if (!config) {
    invocation.io.err << "error: " << config.error().message << "\n";
    return kExitFailure;
  }
  kube::Client client(*std::move(config),
                      {.user_agent = "aliquot/" + std::string(GetBuildInfo().version)});
  return Unlock(client, flags.node, flags.yes ? nullptr : &std::cin, SystemClock(), invocation.io);
}

}  // namespace

int Unlock(kube::Api& api, const std::string& name, std::istream* answers, const Clock& clock,
           Streams io) {
  const auto fail = [&](const std::string& problem) {
    io.err << "error: " << problem << "\n";
    return kExitFailure;
  };
  Result<kube::Node> node = api.GetNode(name, {});
  if (!node) return fail(node.error().message);
  const StringMap locks = LocksOf(*node);
  if (locks.empty()) {
    io.out << "Node " << name << " is not locked.\n";
    return kExitOk;
  }
  for (const auto& [key, text] : locks)
    io.out << key << ": " << DescribeLock(api, text, clock.Now()) << "\n";
  if (answers != nullptr && !Confirmed(*answers, io.out)) {
    io.out << "Nothing was removed.\n";
    return kExitFailure;
  }
  for (int tries = 0; tries < kTries; ++tries) {
    const Result<kube::Node> patched = Remove(api, *node, locks);
    if (patched) {
      io.out << "Removed.\n";
      return kExitOk;
    }
    const ErrorCode code = patched.error().code;
    if (code != ErrorCode::kConflict && code != ErrorCode::kUnknownOutcome)
      return fail(patched.error().message);
    node = api.GetNode(name, {});
    if (!node) return fail(node.error().message);
    const StringMap now = LocksOf(*node);
    if (now.empty()) {
      io.out << "Node " << name << " is no longer locked.\n";
      return kExitOk;
    }
    if (now != locks) return fail("the lock has changed meanwhile; nothing was removed");
  }
  return fail("node " + name + " is written too often; nothing was removed");
}

Command UnlockCommand() { return {"unlock", "remove the lock of a node", Help, Run}; }

}  // namespace aliquot::cli
