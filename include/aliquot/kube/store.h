// Store<T>: a cache of API objects by "namespace/name", fed by one Reflector.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/clock.h"
#include "aliquot/base/mutex.h"
#include "aliquot/kube/types.h"

namespace aliquot::kube {

// What a Reflector tells about objects. Calls come from the reflector's thread,
// one at a time, in order per object, and never while a lock of the store is
// held. An object that was re-created under its name is a deletion followed by
// an addition.
template <typename T>
class Observer {
 public:
  virtual ~Observer() = default;
  // `old` is null for an object that was not known.
  virtual void OnUpsert(const std::shared_ptr<const T>& old,
                        const std::shared_ptr<const T>& now) = 0;
  // `last` is what was last known of the object.
  virtual void OnDelete(const std::shared_ptr<const T>& last) = 0;
  // The first complete list was handled: after it the cache is complete.
  virtual void OnSynced() {}
  // A list was handled that was asked for at `asked`, by the reflector's clock: what was
  // there at that time and is not in the store has gone, even if it was never told of. Not
  // after a list with objects that could not be read.
  virtual void OnListed(SteadyTime /*asked*/) {}
};

// Thread safety: any method from any thread.
template <typename T>
class Store {
 public:
  // Null when unknown. `ns` is empty for nodes.
  std::shared_ptr<const T> Get(std::string_view ns, std::string_view name) const {
    MutexLock lock(mutex_);
    auto it = objects_.find(Key(ns, name));
    return it == objects_.end() ? nullptr : it->second;
  }

  // Ascending by key.
  std::vector<std::shared_ptr<const T>> List() const {
    MutexLock lock(mutex_);
    std::vector<std::shared_ptr<const T>> all;
    all.reserve(objects_.size());
    for (const auto& [key, object] : objects_) all.push_back(object);
    return all;
  }

  // visit(object) for each, ascending by key, until it answers false. They are taken a
  // piece at a time, so that nobody waits for all of them: together they are no single
  // moment.
  template <typename Visit>
  void ForEach(Visit visit) const {
    constexpr size_t kAtOnce = 64;
    std::vector<std::shared_ptr<const T>> piece;
    std::string last;
    do {
      piece.clear();
      {
        MutexLock lock(mutex_);
        for (auto it = objects_.upper_bound(last); it != objects_.end() && piece.size() < kAtOnce;
             ++it)
          piece.push_back(it->second);
      }
      for (const auto& object : piece)
        if (!visit(object)) return;
      if (!piece.empty()) last = Key(piece.back()->meta.ns, piece.back()->meta.name);
    } while (piece.size() == kAtOnce);
  }

  // When the API server last told something, be it that nothing has changed. Zero: never.
  SteadyTime told() const {
    MutexLock lock(mutex_);
    return told_;
  }

  size_t size() const {
    MutexLock lock(mutex_);
    return objects_.size();
  }

  // Only for the feeder. Returns what was there before, or null.
  std::shared_ptr<const T> Put(std::shared_ptr<const T> object) {
    MutexLock lock(mutex_);
    auto& place = objects_[Key(object->meta.ns, object->meta.name)];
    place.swap(object);
    return object;
  }
  void SetTold(SteadyTime at) {
    MutexLock lock(mutex_);
    told_ = at;
  }
  std::shared_ptr<const T> Remove(std::string_view ns, std::string_view name) {
    MutexLock lock(mutex_);
    auto it = objects_.find(Key(ns, name));
    if (it == objects_.end()) return nullptr;
    auto last = std::move(it->second);
    objects_.erase(it);
    return last;
  }

 private:
  static std::string Key(std::string_view ns, std::string_view name) {
    std::string key(ns);
    key += '/';
    key += name;
    return key;
  }

  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<const T>, std::less<>> objects_ GUARDED_BY(mutex_);
  SteadyTime told_ GUARDED_BY(mutex_){};
};

}  // namespace aliquot::kube
