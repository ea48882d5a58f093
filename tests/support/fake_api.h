// FakeApi: kube-apiserver as far as kube::Api sees it, in memory. Objects with
// UIDs and resource versions, preconditions of patches, Binding, failures on
// order, and a record of all calls.
//
// Thread safety: any method from any thread; set the hooks before other threads
// start. Hooks run on the caller's thread while no lock is held.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aliquot/base/mutex.h"
#include "aliquot/kube/api.h"
#include "aliquot/kube/types.h"

namespace aliquot::testing {

class FakeApi : public kube::Api {
 public:
  template <typename T>
  using Ptr = std::shared_ptr<const T>;

  // One call as it came in. `method` is the name of the Api's method.
  struct Call {
    std::string method;
    std::string target;  // "team-a/train-0", "gpu-17"
    std::string body;    // patch, event, or the node of a Bind
    kube::CallOptions options;
  };

  // After a change: (before, after), null where there is nothing. Feed
  // observers from here.
  std::function<void(const Ptr<kube::Pod>&, const Ptr<kube::Pod>&)> on_pod;
  std::function<void(const Ptr<kube::Node>&, const Ptr<kube::Node>&)> on_node;
  // Before a call is carried out; may block, or change the world.
  std::function<void(const Call&)> on_call;

  // Creates or replaces; gives it the next resource version, and a UID if it
  // has none.
  Ptr<kube::Pod> Put(kube::Pod pod) { return Store(pods_, std::move(pod), on_pod); }
  Ptr<kube::Node> Put(kube::Node node) { return Store(nodes_, std::move(node), on_node); }
  void RemovePod(std::string_view ns, std::string_view name) { Drop(pods_, Key(ns, name), on_pod); }
  void RemoveNode(std::string_view name) { Drop(nodes_, Key("", name), on_node); }

  // Null when there is none. Not recorded as a call.
  Ptr<kube::Pod> pod(std::string_view ns, std::string_view name) const {
    return Look(pods_, Key(ns, name));
  }
  Ptr<kube::Node> node(std::string_view name) const { return Look(nodes_, Key("", name)); }
  // Everything, ascending by key.
  std::vector<Ptr<kube::Pod>> pods() const { return All(pods_); }
  std::vector<Ptr<kube::Node>> nodes() const { return All(nodes_); }
  // "namespace/name" -> the event's JSON.
  std::map<std::string, nlohmann::json> events() const {
    MutexLock lock(mutex_);
    return events_;
  }

  // The next calls of `method` answer `error` and change nothing.
  void FailNext(const std::string& method, Error error, int times = 1) {
    Order(method, {std::move(error), false}, times);
  }
  // The next call of `method` is carried out, but its answer is lost.
  void LoseNextAnswer(const std::string& method) {
    Order(method, {{ErrorCode::kUnknownOutcome, "the answer was lost"}, true}, 1);
  }

  std::vector<Call> calls() const {
    MutexLock lock(mutex_);
    return calls_;
  }
  size_t CountCalls(std::string_view method) const {
    size_t count = 0;
    for (const Call& call : calls()) count += call.method == method ? 1 : 0;
    return count;
  }
  void ForgetCalls() {
    MutexLock lock(mutex_);
    calls_.clear();
  }

  Result<kube::Pod> GetPod(std::string_view ns, std::string_view name,
                           const kube::CallOptions& options) override {
    const std::string key = Key(ns, name);
    return Carry<kube::Pod>({"GetPod", key, "", options}, [&] { return Read(pods_, key, "pods"); });
  }
  Result<kube::Node> GetNode(std::string_view name, const kube::CallOptions& options) override {
    const std::string key = Key("", name);
    return Carry<kube::Node>({"GetNode", std::string(name), "", options},
                             [&] { return Read(nodes_, key, "nodes"); });
  }
  Result<kube::Pod> PatchPod(const ObjectRef& ref, const std::string& patch,
                             const kube::CallOptions& options) override {
    const std::string key = Key(ref.ns, ref.name);
    return Carry<kube::Pod>({"PatchPod", key, patch, options},
                            [&] { return Merge(pods_, key, "pods", patch, on_pod); });
  }
  Result<kube::Node> PatchNode(std::string_view name, const std::string& patch,
                               const kube::CallOptions& options) override {
    const std::string key = Key("", name);
    return Carry<kube::Node>({"PatchNode", std::string(name), patch, options},
                             [&] { return Merge(nodes_, key, "nodes", patch, on_node); });
  }
  Result<void> Bind(const kube::Binding& binding, const kube::CallOptions& options) override {
    return Carry<void>({"Bind", Key(binding.pod.ns, binding.pod.name), binding.node, options},
                       [&] { return DoBind(binding); });
  }
  Result<std::string> CreateEvent(std::string_view ns, const std::string& event,
                                  const kube::CallOptions& options) override {
    return Carry<std::string>({"CreateEvent", std::string(ns), event, options},
                              [&]() -> Result<std::string> {
                                nlohmann::json object = nlohmann::json::parse(event);
                                const std::string name = object["metadata"]["name"];
                                MutexLock lock(mutex_);
                                events_[Key(ns, name)] = std::move(object);
                                return name;
                              });
  }
  Result<void> PatchEvent(std::string_view ns, std::string_view name, const std::string& patch,
                          const kube::CallOptions& options) override {
    const std::string key = Key(ns, name);
    return Carry<void>({"PatchEvent", key, patch, options}, [&]() -> Result<void> {
      MutexLock lock(mutex_);
      auto it = events_.find(key);
      if (it == events_.end()) return NotFound("events", key);
      it->second.merge_patch(nlohmann::json::parse(patch));
      return {};
    });
  }
  // An event that the API server has forgotten.
  void DropEvents() {
    MutexLock lock(mutex_);
    events_.clear();
  }

 private:
  template <typename T>
  using Objects = std::map<std::string, Ptr<T>, std::less<>>;
  template <typename T>
  using Hook = std::function<void(const Ptr<T>&, const Ptr<T>&)>;
  struct Failure {
    Error error;
    bool after;  // the call is carried out first
  };

  static std::string Key(std::string_view ns, std::string_view name) {
    return std::string(ns) + "/" + std::string(name);
  }
  static Error NotFound(std::string_view kind, std::string_view key) {
    const std::string name(key.substr(key.find('/') + 1));
    return {ErrorCode::kNotFound, std::string(kind) + " \"" + name + "\" not found"};
  }

  template <typename T>
  Ptr<T> Look(const Objects<T>& objects, const std::string& key) const {
    MutexLock lock(mutex_);
    auto it = objects.find(key);
    return it == objects.end() ? nullptr : it->second;
  }
  template <typename T>
  std::vector<Ptr<T>> All(const Objects<T>& objects) const {
    MutexLock lock(mutex_);
    std::vector<Ptr<T>> all;
    for (const auto& [key, object] : objects) all.push_back(object);
    return all;
  }
  template <typename T>
  Result<T> Read(const Objects<T>& objects, const std::string& key, std::string_view kind) const {
    const Ptr<T> object = Look(objects, key);
    if (!object) return NotFound(kind, key);
    return *object;
  }

  template <typename T>
  Ptr<T> Store(Objects<T>& objects, T object, const Hook<T>& hook) {
    Ptr<T> before, now;
    {
      MutexLock lock(mutex_);
      ++version_;
      object.meta.resource_version = std::to_string(version_);
      if (object.meta.uid.empty()) object.meta.uid = "uid-" + std::to_string(version_);
      now = std::make_shared<T>(std::move(object));
      before = std::exchange(objects[Key(now->meta.ns, now->meta.name)], now);
    }
    if (hook) hook(before, now);
    return now;
  }
  template <typename T>
  void Drop(Objects<T>& objects, const std::string& key, const Hook<T>& hook) {
    Ptr<T> before;
    {
      MutexLock lock(mutex_);
      auto it = objects.find(key);
      if (it == objects.end()) return;
      before = std::move(it->second);
      objects.erase(it);
    }
    if (hook) hook(before, nullptr);
  }

  void Order(const std::string& method, Failure failure, int times) {
    MutexLock lock(mutex_);
    for (int i = 0; i < times; ++i) failures_[method].push_back(failure);
  }

  template <typename T, typename F>
  Result<T> Carry(Call call, F&& action) {
    if (on_call) on_call(call);
    Error error;
    bool fail = false, after = false;
    {
      MutexLock lock(mutex_);
      if (auto& queue = failures_[call.method]; !queue.empty()) {
        fail = true;
        after = queue.front().after;
        error = std::move(queue.front().error);
        queue.pop_front();
      }
      calls_.push_back(std::move(call));
    }
    if (fail && !after) return error;
    Result<T> result = action();
    if (fail) return error;
    return result;
  }

  // Changes one object under the lock; `change` edits the copy it is given.
  template <typename T, typename F>
  Result<T> Update(Objects<T>& objects, const std::string& key, std::string_view kind,
                   const Hook<T>& hook, F&& change) {
    Ptr<T> before, now;
    {
      MutexLock lock(mutex_);
      auto it = objects.find(key);
      if (it == objects.end()) return NotFound(kind, key);
      before = it->second;
      T object = *before;
      if (Result<void> changed = change(object); !changed) return changed.error();
      if (object == *before) return object;  // as there: no new version, no event
      object.meta.resource_version = std::to_string(++version_);
      now = it->second = std::make_shared<T>(std::move(object));
    }
    if (hook) hook(before, now);
    return *now;
  }

  template <typename T>
  Result<T> Merge(Objects<T>& objects, const std::string& key, std::string_view kind,
                  const std::string& patch, const Hook<T>& hook) {
    const nlohmann::json body = nlohmann::json::parse(patch, nullptr, false);
    if (!body.is_object() || body.size() != 1 || !body.contains("metadata")) {
      return InvalidError("FakeApi: only metadata can be patched: " + patch);
    }
    return Update(objects, key, kind, hook, [&](T& object) -> Result<void> {
      for (const auto& [name, value] : body["metadata"].items()) {
        if (name == "uid") {
          if (value == object.meta.uid) continue;
          return Error{ErrorCode::kOtherObject, "metadata.uid: Invalid value: field is immutable"};
        } else if (name == "resourceVersion") {
          if (value == object.meta.resource_version) continue;
          return Error{ErrorCode::kConflict, "the object has been modified"};
        } else if (name == "annotations" || name == "labels") {
          StringMap& map = name == "labels" ? object.meta.labels : object.meta.annotations;
          for (const auto& [entry, text] : value.items()) {
            if (text.is_null()) {
              map.erase(entry);
            } else {
              map[entry] = text.template get<std::string>();
            }
          }
        } else {
          return InvalidError("FakeApi: cannot patch metadata." + name);
        }
      }
      return {};
    });
  }

  Result<void> DoBind(const kube::Binding& binding) {
    const std::string& name = binding.pod.name;
    Result<kube::Pod> bound = Update(
        pods_, Key(binding.pod.ns, name), "pods", on_pod, [&](kube::Pod& pod) -> Result<void> {
          const auto conflict = [](std::string text) {
            return Error{ErrorCode::kConflict, std::move(text)};
          };
          if (binding.node.empty()) return InvalidError("target.name: Required value");
          if (!binding.pod.uid.empty() && binding.pod.uid != pod.meta.uid) {
            return conflict("Precondition failed: UID in precondition: " + binding.pod.uid);
          }
          if (pod.meta.terminating) {
            return conflict("pod " + name + " is being deleted, cannot be assigned to a host");
          }
          if (!pod.node_name.empty()) {
            return conflict("pod " + name + " is already assigned to node \"" + pod.node_name +
                            "\"");
          }
          pod.node_name = binding.node;
          for (const auto& [key, value] : binding.annotations) {
            pod.meta.annotations.insert_or_assign(key, value);
          }
          for (const auto& [key, value] : binding.labels) {
            pod.meta.labels.insert_or_assign(key, value);
          }
          return {};
        });
    if (!bound) return bound.error();
    return {};
  }

  mutable Mutex mutex_;
  uint64_t version_ GUARDED_BY(mutex_) = 1000;
  Objects<kube::Pod> pods_ GUARDED_BY(mutex_);
  Objects<kube::Node> nodes_ GUARDED_BY(mutex_);
  std::map<std::string, nlohmann::json> events_ GUARDED_BY(mutex_);
  std::map<std::string, std::deque<Failure>> failures_ GUARDED_BY(mutex_);
  std::vector<Call> calls_ GUARDED_BY(mutex_);
};

}  // namespace aliquot::testing
