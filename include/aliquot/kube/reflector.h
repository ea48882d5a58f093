// Reflector<T>: keeps a Store<T> equal to what the API server has, by a list
// and then a watch, or by listing again and again, and tells one Observer about
// every change. T is Pod, Node,
// ResourceQuota or Lease.
//
// An object that cannot be read is logged and left out; what was known of it
// stays. Nothing ends a reflector but Stop.
//
// Thread safety: any method from any thread, but Start and Stop by the owner
// only. Store, observer and source outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "aliquot/base/clock.h"
#include "aliquot/base/mutex.h"
#include "aliquot/base/result.h"
#include "aliquot/kube/list_watcher.h"
#include "aliquot/kube/store.h"
#include "aliquot/kube/types.h"

namespace aliquot::kube {

struct ReflectorOptions {
  std::string ns;  // only objects of this namespace; empty: of all
  // Narrows the objects: "fieldSelector=..." and "labelSelector=...", values
  // escaped by UrlEscape, joined by '&'.
  std::string selectors;
  // Lists every poll_interval instead of watching.
  bool poll = false;
  Duration poll_interval = std::chrono::seconds(5);
  // Of the jitter in pauses and watch times; replicas should differ.
  uint64_t seed = std::random_device()();
  // Pauses after failures; false when stopped. Empty: by the machine's clock.
  std::function<bool(Duration, const std::stop_token&)> sleep;
};

template <typename T>
class Reflector {
 public:
  Reflector(ListWatcher& source, Store<T>& store, Observer<T>& observer, ReflectorOptions options,
            const Clock& clock = SystemClock());
  ~Reflector();  // stops

  void Start();
  // Returns when the thread has ended; no observer call follows.
  void Stop();

  // The first complete list was handled.
  bool synced() const;

  struct Health {
    // The last time the API server gave us something: a list, an event, an
    // orderly end of a watch. Zero before the first.
    SteadyTime last_progress{};
    std::string failure;    // of the latest attempt; empty while it goes well
    uint64_t failures = 0;  // lists and watches, since the start
  };
  Health health() const;

  // For polling: takes effect at once, also for the pause that is running.
  void SetPollInterval(Duration interval);

 private:
  using Ptr = std::shared_ptr<const T>;

  // A complete list, before it is applied.
  struct Snapshot {
    std::string resource_version;
    std::map<std::string, Ptr> objects;  // by "namespace/name"
    std::set<std::string> unreadable;    // keys of objects to leave as they are
  };
  // How one watch ended.
  enum class Next { kWatch, kWatchLater, kList };

  void Run(const std::stop_token& stop);
  Result<Snapshot> ListAll(const std::stop_token& stop);
  Result<void> ReadPage(std::string_view body, Snapshot& into, std::string& continue_token);
  void Apply(Snapshot snapshot, SteadyTime asked);
  void WatchUntilListed(std::string resource_version, const std::stop_token& stop);
  Next WatchOnce(std::string& resource_version, const std::stop_token& stop);
  Result<void> HandleEvent(std::string_view line, std::string& resource_version);
  void Upsert(Ptr now);
  void Delete(std::string_view ns, std::string_view name);

  void Progress();
  void Failed(std::string_view what, const Error& error);
  void PauseAfterFailure(const std::stop_token& stop);
  void PauseUntilPoll(const std::stop_token& stop);
  std::string Target(const std::string& query) const;

  ListWatcher& source_;
  Store<T>& store_;
  Observer<T>& observer_;
  const ReflectorOptions options_;
  const std::string path_;
  const Clock& clock_;

  // Of the reflector's thread only.
  std::mt19937_64 random_;
  bool paged_ = true;       // off for one list after a continue token expired
  int failures_ = 0;        // in a row
  SteadyTime failed_at_{};  // the latest
  bool forbidden_ = false;  // was the latest

  mutable Mutex mutex_;
  CondVar poll_changed_;
  bool synced_ GUARDED_BY(mutex_) = false;
  Health health_ GUARDED_BY(mutex_);
  Duration poll_interval_ GUARDED_BY(mutex_);

  std::jthread thread_;
};

extern template class Reflector<Pod>;
extern template class Reflector<Node>;
extern template class Reflector<ResourceQuota>;
extern template class Reflector<Lease>;

}  // namespace aliquot::kube
