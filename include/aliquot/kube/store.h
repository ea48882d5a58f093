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
};

}  // namespace aliquot::kube
