// EventRecorder: tells users what happened to their pods, as core/v1 Events.
// Nobody waits for it: Record puts the event into a queue, one thread of its
// own sends from it on the background lane. Repetitions within ten minutes
// count up the event that is there.
//
// Thread safety: any method from any thread. `api` outlives it.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <string>
#include <thread>

#include "aliquot/base/clock.h"
#include "aliquot/base/mutex.h"
#include "aliquot/base/object_ref.h"
#include "aliquot/kube/api.h"

namespace aliquot::kube {

enum class EventType { kNormal, kWarning };

class EventRecorder {
 public:
  // `component`: who reports, the scheduler's name; empty: hami-scheduler.
  EventRecorder(Api& api, std::string component, const Clock& clock = SystemClock());
  ~EventRecorder();  // what is still queued is dropped

  // Never blocks. Dropped when 1000 events wait. The message is cut to 1024
  // bytes.
  void Record(const ObjectRef& pod, EventType type, std::string reason, std::string message);

  // Waits until the queue is empty and the last event was sent, or until
  // `deadline` by the machine's clock; false then.
  bool Flush(SteadyTime deadline);

  struct Counts {
    uint64_t sent = 0;
    uint64_t dropped = 0;  // the queue was full
    uint64_t failed = 0;   // the API server did not take it
    size_t queued = 0;     // now
  };
  Counts counts() const;

 private:
  struct Entry {
    ObjectRef pod;
    EventType type;
    std::string reason;
    std::string message;
    WallTime at;
  };
  // An event that the API server has, for its repetitions.
  struct Known {
    std::string key;
    std::string name;
    int64_t count = 1;
    SteadyTime last;
  };

  void Run(const std::stop_token& stop);
  Result<void> Send(const Entry& entry);
  Result<void> Create(const Entry& entry, std::string key);
  Result<void> CountUp(Known& known, const Entry& entry);
  std::string EventName(const Entry& entry);

  Api& api_;
  const std::string component_;
  const Clock& clock_;

  // Of the sending thread only. The latest used is at the front.
  std::list<Known> known_;
  std::map<std::string, std::list<Known>::iterator, std::less<>> by_key_;
  int64_t last_stamp_ = 0;

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Entry> queue_ GUARDED_BY(mutex_);
  bool sending_ GUARDED_BY(mutex_) = false;
  Counts counts_ GUARDED_BY(mutex_);

  std::jthread thread_;
};

// At most `bytes` of `text`, without cutting a UTF-8 character.
std::string CutUtf8(std::string text, size_t bytes);

}  // namespace aliquot::kube
