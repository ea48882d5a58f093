// The scheduler extender's requests and answers as values. Their JSON is the
// server's business (server/wire.h); field names are those of kube-scheduler's
// extender v1 types.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/clock.h"
#include "aliquot/kube/types.h"
#include "aliquot/scheduler/admission.h"

namespace aliquot::scheduler {

// A full Node object of a simulation request.
struct OfferedNode {
  kube::Node node;
  std::string_view json;  // as it was sent, to be echoed
};

struct FilterRequest {
  kube::Pod pod;

  // Ordinary requests name the candidates. Absent and null are an empty list.
  std::vector<std::string_view> node_names;

  // Simulation (a cluster autoscaler): `Nodes` was there and not null, even
  // with zero items; node_names is ignored then.
  bool simulation = false;
  std::vector<OfferedNode> nodes;

  // What the views above point into.
  std::shared_ptr<const void> storage;
};

// Node -> reason, in the answer's FailedNodes or FailedAndUnresolvableNodes.
struct FailedNode {
  std::string_view node;    // points into the request, or into FilterAnswer::texts
  std::string_view reason;  // points into FilterAnswer::texts
};

// How a filter request ended.
enum class FilterOutcome {
  kAssigned,    // a node was found, and the pod has its devices
  kRefused,     // no node fits
  kUnreadable,  // the pod's request cannot be read
  kPassed,      // it asks for no device
  kSimulated,   // answered, and nothing was kept
  kError,       // see FilterAnswer::error
  kCount,
};

// Movable, not copyable: views point into `texts`. The request outlives it.
struct FilterAnswer {
  FilterAnswer() = default;
  FilterAnswer(FilterAnswer&&) = default;
  FilterAnswer& operator=(FilterAnswer&&) = default;

  // NodeNames: absent is null on the wire.
  std::optional<std::vector<std::string_view>> node_names;
  // Nodes of a simulation to echo, as positions in FilterRequest::nodes;
  // absent is null on the wire.
  std::optional<std::vector<size_t>> nodes;
  std::vector<FailedNode> failed;        // in the order asked; empty is null
  std::vector<FailedNode> unresolvable;  // in the order asked; empty is null
  std::string error;

  FilterOutcome outcome = FilterOutcome::kError;  // not on the wire
  std::deque<std::string> texts;
};

struct BindRequest {
  std::string pod_name;
  std::string pod_namespace;
  std::string pod_uid;
  std::string node;
};

// How a bind request ended.
enum class BindOutcome {
  kBound,         // by this request
  kAlreadyBound,  // to the named node, before it
  kRetry,         // failed, and will be tried again: the reservation is kept
  kFinal,         // failed for good: the reservation is given back
  kCount,
};

struct BindAnswer {
  std::string error;
  BindOutcome outcome = BindOutcome::kRetry;  // not on the wire
};

// How long an answer may take, and whether anybody still waits for it.
// `caller_gone` may be called from the request's thread at any time; it is true
// once the caller has closed its connection.
struct RequestContext {
  SteadyTime received;
  std::function<bool()> caller_gone;
};

// What the routes call. Thread safety: any method from any thread; calls block
// until the answer is there, and never throw.
class Extender {
 public:
  virtual ~Extender() = default;
  virtual FilterAnswer Filter(const FilterRequest& request, const RequestContext& context) = 0;
  virtual BindAnswer Bind(const BindRequest& request, const RequestContext& context) = 0;
  virtual AdmissionAnswer Admit(const AdmissionRequest& request) = 0;
};

}  // namespace aliquot::scheduler
