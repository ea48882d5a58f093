// Api: the calls that we make to kube-apiserver. The fakeable edge: the client
// over libcurl implements it, and so do the tests' fakes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/clock.h"
#include "aliquot/base/object_ref.h"
#include "aliquot/base/result.h"
#include "aliquot/kube/types.h"

namespace aliquot::kube {

// Which budget and which connections a call uses: nothing slow in the
// background may stand before a decision. Meaning of --kube-qps: given, it
// bounds all calls, scheduling first; not given, scheduling is unbounded and
// background calls get 5/s with burst 10.
enum class Lane { kScheduling, kBackground };

struct CallOptions {
  Lane lane = Lane::kScheduling;
  // The call gives up here; the client's own cap (30 s) applies as well.
  SteadyTime deadline = SteadyTime::max();
};

// A pod to bind: POST pods/<name>/binding. The annotations, and on recent API
// servers the labels, land on the pod in the same transaction. pod.uid is a
// precondition.
struct Binding {
  ObjectRef pod;
  std::string node;
  StringMap annotations = {};
  StringMap labels = {};

  // As a core/v1 Binding.
  std::string ToJson() const;
};

// Errors are typed by base's ErrorCode:
//   kNotFound 404, kConflict 409, kOtherObject (PATCH with another UID: 422
//   "field is immutable"), kGone 410, kInvalid other 4xx, kUnauthorized,
//   kForbidden, kTooManyRequests, kUnavailable: nothing was changed,
//   kUnknownOutcome: a write whose answer was lost, or 504, kDeadline.
// The message is the API server's own where it gave one.
//
// Thread safety: any method from any thread. Calls block up to the deadline.
class Api {
 public:
  virtual ~Api() = default;

  virtual Result<Pod> GetPod(std::string_view ns, std::string_view name, const CallOptions&) = 0;
  virtual Result<Node> GetNode(std::string_view name, const CallOptions&) = 0;

  // JSON merge patch. `ref.uid`, when not empty, is written into the body's
  // metadata as a precondition by the caller: the body is sent as it is.
  // Answers the object as it is afterwards.
  virtual Result<Pod> PatchPod(const ObjectRef& ref, const std::string& merge_patch,
                               const CallOptions&) = 0;
  virtual Result<Node> PatchNode(std::string_view name, const std::string& merge_patch,
                                 const CallOptions&) = 0;

  virtual Result<void> Bind(const Binding& binding, const CallOptions&) = 0;

  // A core/v1 Event as JSON; answers its name. PatchEvent: strategic merge.
  virtual Result<std::string> CreateEvent(std::string_view ns, const std::string& event,
                                          const CallOptions&) = 0;
  virtual Result<void> PatchEvent(std::string_view ns, std::string_view name,
                                  const std::string& patch, const CallOptions&) = 0;
};

// Calls on objects that have no methods above, as JSON text.
//
// Errors and thread safety: as Api.
class RawApi {
 public:
  virtual ~RawApi() = default;

  // The body of a successful answer. `target`: path and query, escaped. A GET has no
  // `body`; `content_type` is the body's.
  virtual Result<std::string> Call(const std::string& method, const std::string& target,
                                   const std::string& body, const std::string& content_type,
                                   const CallOptions& call) = 0;
};

// Merge-patch bodies, e.g.
//   {"metadata":{"uid":"...","annotations":{"a":"1","b":null},"labels":{...}}}
// Built here so that no caller assembles JSON by hand.
struct MetadataPatch {
  std::string uid = {};               // precondition; empty: none
  std::string resource_version = {};  // precondition; empty: none
  // nullopt deletes the key.
  std::map<std::string, std::optional<std::string>, std::less<>> annotations = {};
  std::map<std::string, std::optional<std::string>, std::less<>> labels = {};

  std::string ToJson() const;
};

}  // namespace aliquot::kube
