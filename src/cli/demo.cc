#include "cli/demo.h"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <sstream>

#include "cli/demo_report.h"
#include "cli/demo_words.h"

namespace aliquot::cli {
namespace {

constexpr std::chrono::seconds kPatience{10};
constexpr size_t kTimeWidth = 8;

std::string Milliseconds(Duration duration) {
  if (duration == Duration::zero()) return "-";
  std::ostringstream text;
  text << std::fixed << std::setprecision(1)
       << std::chrono::duration<double, std::milli>(duration).count() << " ms";
  return text.str();
}

Duration Median(std::vector<Duration> times) {
  if (times.empty()) return Duration::zero();
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Bound, and its device plugin or its kubelet have something left to say.
bool IsBeingServed(const kube::Pod& pod) {
  const std::string* phase = Find(pod.meta.annotations, "hami.io/bind-phase");
  return !pod.node_name.empty() && phase != nullptr &&
         (*phase == "allocating" || pod.phase == kube::PodPhase::kPending);
}

// In a few words: of the node that has most to do with it, the first of several.
std::string WhyNowhere(const Attempt& attempt) {
  if (!attempt.error.empty()) return attempt.error;
  if (attempt.refusals.empty()) return "there is no node";
  const auto nearest = std::max_element(
      attempt.refusals.begin(), attempt.refusals.end(),
      [](const auto& a, const auto& b) { return Nearness(a.second) < Nearness(b.second); });
  return RefusalInWords(nearest->second);
}

}  // namespace

Demo::Demo(Sandbox& sandbox, const Screen& screen, StopSignals& signals)
    : sandbox_(sandbox),
      screen_(screen),
      signals_(signals),
      plugins_(sandbox),
      scheduler_(sandbox) {}

Result<void> Demo::Place(const std::vector<kube::Pod>& pods) {
  for (const kube::Pod& pod : pods) {
    name_width_ = std::max(name_width_, NameOf(pod).size());
    wish_width_ = std::max(wish_width_, WishInWords(pod, sandbox_.registry()).size());
  }
  screen_.out() << screen_.Bold(Padded("POD", name_width_) + "  " +
                                Padded("ASKS FOR", wish_width_) + "  " +
                                RightAligned("/filter", kTimeWidth) + "  " +
                                RightAligned("/bind", kTimeWidth) + "  LANDS ON")
                << std::endl;
  for (const kube::Pod& pod : pods) {
    if (signals_.Within(std::chrono::milliseconds(0))) return {};
    if (const Result<void> placed = PlaceOne(pod); !placed) return placed.error();
  }
  WaitForPlugins();
  return {};
}

Result<void> Demo::PlaceOne(const kube::Pod& pod) {
  Result<Attempt> attempt = scheduler_.Place(pod.meta.Ref());
  if (!attempt) {
    if (attempt.error().code == ErrorCode::kNotFound) return {};  // deleted meanwhile
    return attempt.error();
  }
  const auto known = std::find_if(attempts_.begin(), attempts_.end(), [&](const Attempt& earlier) {
    return earlier.pod.meta.uid == attempt->pod.meta.uid;
  });
  const bool again = known != attempts_.end();
  if (!attempt->node.empty()) holding_.insert(attempt->pod.meta.uid);
  if (!again || !attempt->node.empty()) Tell(*attempt);  // waits still: nothing new
  if (again)
    *known = *std::move(attempt);
  else
    attempts_.push_back(*std::move(attempt));
  return {};
}

void Demo::Tell(const Attempt& attempt) {
  std::string where;
  if (attempt.node.empty()) {
    where = screen_.Paint(Screen::Colour::kRed, "nowhere: " + WhyNowhere(attempt));
  } else {
    const auto node = sandbox_.ledger().Node(attempt.node);
    const std::string shares =
        SharesInWords(attempt.pod, node ? &*node : nullptr, sandbox_.registry());
    where = attempt.node + (shares.empty() ? "" : " " + shares);
  }
  screen_.out() << Padded(NameOf(attempt.pod), name_width_) << "  "
                << Padded(WishInWords(attempt.pod, sandbox_.registry()), wish_width_) << "  "
                << RightAligned(Milliseconds(attempt.filter), kTimeWidth) << "  "
                << RightAligned(Milliseconds(attempt.bind), kTimeWidth) << "  " << where
                << std::endl;
}

void Demo::WaitForPlugins() {
  const SteadyTime deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    const uint64_t version = sandbox_.cluster().resource_version();
    const std::vector<kube::Pod> pods = sandbox_.Pods();
    if (std::none_of(pods.begin(), pods.end(), [this](const kube::Pod& pod) {
          return holding_.contains(pod.meta.uid) && IsBeingServed(pod);
        }))
      return;
    if (!sandbox_.cluster().WaitForChange(version, deadline)) return;
  }
}

void Demo::Report() {
  WriteReport(sandbox_, attempts_, screen_);
  std::vector<Duration> filters, binds;
  for (const Attempt& attempt : attempts_) {
    filters.push_back(attempt.filter);
    if (!attempt.node.empty()) binds.push_back(attempt.bind);
  }
  screen_.out() << "\n"
                << binds.size() << " of " << attempts_.size() << " pods placed. Median of /filter "
                << Milliseconds(Median(filters)) << ", of /bind " << Milliseconds(Median(binds))
                << "." << std::endl;
}

// There is more room than the last time: a pod has gone, or a node has come.
bool Demo::TakeNoteOfRoom() {
  const ledger::Ledger& ledger = sandbox_.ledger();
  const size_t gone = std::erase_if(
      holding_, [&](const std::string& uid) { return !ledger.Find(uid).has_value(); });
  const size_t before = std::exchange(nodes_, ledger.Count().nodes);
  return gone > 0 || nodes_ > before;
}

Result<void> Demo::KeepPlacing() {
  for (const kube::Pod& pod : sandbox_.Pods())
    if (!pod.node_name.empty()) holding_.insert(pod.meta.uid);
  TakeNoteOfRoom();
  uint64_t seen = sandbox_.cluster().resource_version();
  while (!signals_.Within(std::chrono::milliseconds(100))) {
    const bool room = TakeNoteOfRoom();
    const uint64_t before = std::exchange(seen, sandbox_.cluster().resource_version());
    if (!room && seen == before) continue;
    for (const kube::Pod& pod : sandbox_.Pods()) {
      if (!pod.node_name.empty() || pod.terminal()) continue;
      const bool known = std::any_of(attempts_.begin(), attempts_.end(), [&](const Attempt& tried) {
        return tried.pod.meta.uid == pod.meta.uid;
      });
      if (known && !room) continue;
      if (const Result<void> placed = PlaceOne(pod); !placed) return placed.error();
    }
  }
  return {};
}

}  // namespace aliquot::cli
