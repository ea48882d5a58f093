#include "aliquot/kube/events.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aliquot/base/log.h"
#include "aliquot/base/time_text.h"

namespace aliquot::kube {
namespace {

constexpr size_t kQueued = 1000;
constexpr size_t kRemembered = 4096;
constexpr size_t kMaxMessage = 1024;
constexpr size_t kMaxReason = 128;
constexpr std::chrono::minutes kRepeats{10};
constexpr std::chrono::seconds kSendTime{10};

using Json = nlohmann::json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const char* TypeName(EventType type) { return type == EventType::kNormal ? "Normal" : "Warning"; }

}  // namespace

std::string CutUtf8(std::string text, size_t bytes) {
  if (text.size() <= bytes) return text;
  // Back to the first byte of the character that does not fit.
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  text.resize(bytes);
  return text;
}

EventRecorder::EventRecorder(Api& api, std::string component, const Clock& clock)
    : api_(api),
      component_(component.empty() ? "hami-scheduler" : std::move(component)),
      clock_(clock),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

EventRecorder::~EventRecorder() = default;  // the thread stops and is joined first

void EventRecorder::Record(const ObjectRef& pod, EventType type, std::string reason,
                           std::string message) {
  Entry entry{pod, type, CutUtf8(std::move(reason), kMaxReason),
              CutUtf8(std::move(message), kMaxMessage), clock_.Now()};
  MutexLock lock(mutex_);
  if (queue_.size() >= kQueued) {
    ++counts_.dropped;
    return;
  }
  queue_.push_back(std::move(entry));
  changed_.NotifyAll();
}

bool EventRecorder::Flush(SteadyTime deadline) {
  MutexLock lock(mutex_);
  while (!queue_.empty() || sending_) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    changed_.WaitUntil(mutex_, deadline);
  }
  return true;
}

EventRecorder::Counts EventRecorder::counts() const {
  MutexLock lock(mutex_);
  Counts counts = counts_;
  counts.queued = queue_.size();
  return counts;
}

void EventRecorder::Run(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] {
    MutexLock lock(mutex_);
    changed_.NotifyAll();
  });
  for (;;) {
    Entry entry;
    {
      MutexLock lock(mutex_);
      while (queue_.empty() && !stop.stop_requested()) changed_.Wait(mutex_);
      if (stop.stop_requested()) return;
      entry = std::move(queue_.front());
      queue_.pop_front();
      sending_ = true;
    }
    const Result<void> sent = Send(entry);
    if (!sent) {
      log::Warn(
          "Could not record an event",
          {{"pod", Display(entry.pod)}, {"reason", entry.reason}, {"error", sent.error().message}});
    }
    MutexLock lock(mutex_);
    ++(sent ? counts_.sent : counts_.failed);
    sending_ = false;
    changed_.NotifyAll();
  }
}

Result<void> EventRecorder::Send(const Entry& entry) {
  std::string key;
  for (const std::string& part : {entry.pod.ns, entry.pod.name, entry.pod.uid,
                                  std::string(TypeName(entry.type)), entry.reason, entry.message}) {
    key.append(part).push_back('\0');
  }
  if (auto it = by_key_.find(key); it != by_key_.end()) {
    Known& known = *it->second;
    known_.splice(known_.begin(), known_, it->second);
    if (clock_.Steady() - known.last < kRepeats) {
      Result<void> counted = CountUp(known, entry);
      if (counted || counted.error().code != ErrorCode::kNotFound) return counted;
    }
    by_key_.erase(it);
    known_.pop_front();
  }
  return Create(entry, std::move(key));
}

Result<void> EventRecorder::Create(const Entry& entry, std::string key) {
  const std::string name = EventName(entry);
  const std::string now = FormatRfc3339(entry.at);
  const Json event = {{"apiVersion", "v1"},
                      {"kind", "Event"},
                      {"metadata", {{"name", name}, {"namespace", entry.pod.ns}}},
                      {"involvedObject",
                       {{"apiVersion", "v1"},
                        {"kind", "Pod"},
                        {"namespace", entry.pod.ns},
                        {"name", entry.pod.name},
                        {"uid", entry.pod.uid}}},
                      {"type", TypeName(entry.type)},
                      {"reason", entry.reason},
                      {"message", entry.message},
                      {"source", {{"component", component_}}},
                      {"reportingComponent", component_},
                      {"reportingInstance", ""},
                      {"firstTimestamp", now},
                      {"lastTimestamp", now},
                      {"count", 1}};
  Result<std::string> created =
      api_.CreateEvent(entry.pod.ns, Dump(event),
                       {.lane = Lane::kBackground, .deadline = clock_.Steady() + kSendTime});
  if (!created) return created.error();

  known_.push_front({key, name, 1, clock_.Steady()});
  by_key_.insert_or_assign(std::move(key), known_.begin());
  if (known_.size() > kRemembered) {
    by_key_.erase(known_.back().key);
    known_.pop_back();
  }
  return {};
}

Result<void> EventRecorder::CountUp(Known& known, const Entry& entry) {
  const Json patch = {{"count", known.count + 1}, {"lastTimestamp", FormatRfc3339(entry.at)}};
  Result<void> patched =
      api_.PatchEvent(entry.pod.ns, known.name, Dump(patch),
                      {.lane = Lane::kBackground, .deadline = clock_.Steady() + kSendTime});
  if (!patched) return patched;
  ++known.count;
  known.last = clock_.Steady();
  return {};
}

// "<pod>.<hex of nanoseconds>", never twice the same. A pod's name may be as
// long as an event's, so it is cut to leave room.
std::string EventRecorder::EventName(const Entry& entry) {
  constexpr size_t kMaxName = 253;
  const int64_t nanoseconds =
      std::chrono::duration_cast<Duration>(entry.at.time_since_epoch()).count();
  last_stamp_ = std::max(nanoseconds, last_stamp_ + 1);
  char stamp[24];
  const int size =
      std::snprintf(stamp, sizeof(stamp), ".%llx", static_cast<unsigned long long>(last_stamp_));
  std::string name = entry.pod.name.substr(0, kMaxName - static_cast<size_t>(size));
  while (!name.empty() && (name.back() == '.' || name.back() == '-')) name.pop_back();
  return name + stamp;
}

}  // namespace aliquot::kube
