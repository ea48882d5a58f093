#include "simulation/link.h"

#include <algorithm>
#include <optional>

#include "aliquot/base/strings.h"
#include "aliquot/kube/parse.h"
#include "kube/stop.h"
#include "simulation/machine.h"

namespace aliquot::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kClientPatience = seconds(30);  // kube::Client's own cap

SteadyTime Now() { return SystemClock().Steady(); }

template <typename T>
std::string Outcome(const Result<T>& result) {
  return result ? "done" : std::string(ErrorCodeName(result.error().code));
}

bool IsOfPods(const std::string& target) { return target.starts_with("/api/v1/pods"); }

}  // namespace

Link::Link(World& world, const Witness& owner, std::function<void()> crash,
           std::function<void(const std::string& uid)> on_write)
    : world_(world),
      owner_(owner),
      crash_(std::move(crash)),
      on_write_(std::move(on_write)),
      longest_lag_(milliseconds(world.random.OneOf<int64_t>({5, 50, 1000}))) {}

// False: the time is over first, or the process is.
bool Link::Travel(Duration time, SteadyTime give_up) {
  const bool in_time = Now() + time < give_up;
  return kube::SleepFor(std::min(time, give_up - Now()), stop_.get_token()) && in_time;
}

// The process ends here and now.
bool Link::Dies() {
  if (cut() || !world_.faults.Happens(Fault::kRestart)) return false;
  crash_();
  return true;
}

template <typename T>
Result<T> Link::Send(const std::string& what, bool write, const kube::CallOptions& call,
                     const std::function<Result<T>()>& carry) {
  property::Random& random = world_.random;
  Faults& faults = world_.faults;
  const SteadyTime give_up = std::min(call.deadline, Now() + kClientPatience);
  const auto tell = [&](Error error) -> Result<T> {
    if (cut()) return kube::CancelledError();
    world_.journal.Say(std::to_string(owner_.id()) + ": " + what + ": " +
                       std::string(ErrorCodeName(error.code)));
    return error;
  };
  const auto unheard = [&] {
    return tell(
        {write ? ErrorCode::kUnknownOutcome : ErrorCode::kUnavailable, what + ": no answer"});
  };
  const auto way = [&] {
    if (faults.Happens(Fault::kSlow)) return Duration(milliseconds(random.Between(500, 40000)));
    return Duration(std::chrono::microseconds(random.Between(200, 4000)));
  };

  if (cut() || (write && Dies())) return kube::CancelledError();
  if (Now() >= give_up) return tell({ErrorCode::kDeadline, what + ": too late"});
  if (!Travel(way(), give_up) || faults.Happens(Fault::kLostRequest)) {
    if (!cut()) (void)Travel(milliseconds(random.Between(0, 2000)), give_up);
    return unheard();
  }
  if (world_.outage || faults.Happens(Fault::kServerError))
    return tell({ErrorCode::kUnavailable, what + ": unavailable"});
  if ((world_.storm && random.Chance(90)) || faults.Happens(Fault::kTooMany))
    return tell({ErrorCode::kTooManyRequests, what + ": too many requests"});
  if (write && faults.Happens(Fault::kConflict))
    return tell({ErrorCode::kConflict, what + ": the object has been modified"});

  Result<T> result = carry();
  if (write) world_.journal.Say(std::to_string(owner_.id()) + ": " + what + ": " + Outcome(result));
  world_.model.CatchUp(&owner_);
  if (write && Dies()) return kube::CancelledError();
  const bool lost = faults.Happens(Fault::kLostAnswer);
  if (!Travel(way(), give_up) || lost || world_.outage) return unheard();
  return result;
}

Result<kube::Pod> Link::GetPod(std::string_view ns, std::string_view name,
                               const kube::CallOptions& call) {
  return Send<kube::Pod>("get pod " + std::string(name), false, call,
                         [&] { return world_.users.GetPod(ns, name, {}); });
}

Result<kube::Node> Link::GetNode(std::string_view name, const kube::CallOptions& call) {
  return Send<kube::Node>("get node " + std::string(name), false, call,
                          [&] { return world_.users.GetNode(name, {}); });
}

Result<kube::Pod> Link::PatchPod(const ObjectRef& ref, const std::string& merge_patch,
                                 const kube::CallOptions& call) {
  on_write_(ref.uid);
  return Send<kube::Pod>("patch pod " + ref.name + " " + merge_patch, true, call,
                         [&] { return world_.users.PatchPod(ref, merge_patch, {}); });
}

Result<kube::Node> Link::PatchNode(std::string_view name, const std::string& merge_patch,
                                   const kube::CallOptions& call) {
  return Send<kube::Node>("patch node " + std::string(name) + " " + merge_patch, true, call,
                          [&] { return world_.users.PatchNode(name, merge_patch, {}); });
}

Result<void> Link::Bind(const kube::Binding& binding, const kube::CallOptions& call) {
  on_write_(binding.pod.uid);
  return Send<void>("bind pod " + binding.pod.name + " " + binding.pod.uid + " to " + binding.node,
                    true, call, [&] { return world_.users.Bind(binding, {}); });
}

Result<std::string> Link::CreateEvent(std::string_view, const std::string&,
                                      const kube::CallOptions&) {
  return Error{ErrorCode::kForbidden, "events are not simulated"};
}

Result<void> Link::PatchEvent(std::string_view, std::string_view, const std::string&,
                              const kube::CallOptions&) {
  return Error{ErrorCode::kForbidden, "events are not simulated"};
}

Result<std::string> Link::List(const std::string& target, const std::stop_token& stop) {
  const kube::EitherStop either(stop, stop_.get_token());
  Result<std::string> page = Send<std::string>(
      "list " + target, false, {}, [&] { return world_.users.List(target, either.token()); });
  if (page && IsOfPods(target))
    if (const auto read = kube::ParseListPage(*page))
      pods_seen_ = static_cast<uint64_t>(ParseInt64(read->resource_version).value());
  return page;
}

Result<void> Link::Watch(const std::string& target, Duration,
                         const std::function<bool(std::string_view line)>& on_line,
                         const std::stop_token& stop) {
  property::Random& random = world_.random;
  Faults& faults = world_.faults;
  const kube::EitherStop either(stop, stop_.get_token());
  const std::stop_token ended = either.token();
  const Error broken{ErrorCode::kUnavailable, "watch " + target + ": the stream broke"};
  if (!kube::SleepFor(milliseconds(random.Between(0, 5)), ended)) return kube::CancelledError();
  if (world_.outage || faults.Happens(Fault::kServerError)) return broken;
  if (world_.storm) return Error{ErrorCode::kTooManyRequests, "watch: too many requests"};
  const cluster::Response response = world_.cluster.Handle({"GET", target, "", ""}, ended);
  if (!response.watch) return Error{ErrorCode::kInvalid, "watch " + target + ": " + response.body};

  using Kind = cluster::Watch::Piece::Kind;
  for (;;) {
    Duration lag = longest_lag_ * random.Between(0, 100) / 100;
    if (faults.Happens(Fault::kStall)) lag = milliseconds(random.Between(1000, 60000));
    if (!kube::SleepFor(lag, ended)) return kube::CancelledError();
    const cluster::Watch::Piece piece = response.watch->Next(ended);
    if (ended.stop_requested()) return kube::CancelledError();
    if (piece.kind == Kind::kEnd) return {};
    if (world_.outage || faults.Happens(Fault::kWatchCut)) return broken;
    const std::string_view line = std::string_view(piece.text).substr(0, piece.text.size() - 1);
    const int times = faults.Happens(Fault::kTwice) ? 2 : 1;
    for (int i = 0; i < times; ++i)
      if (!on_line(line)) return {};
    if (!IsOfPods(target)) continue;
    if (const auto event = kube::ParseWatchEvent(line);
        event && event->type != kube::WatchEvent::Type::kError)
      if (const auto meta = kube::ParseMeta(event->object))
        pods_seen_ = static_cast<uint64_t>(ParseInt64(meta->resource_version).value());
  }
}

}  // namespace aliquot::simulation
