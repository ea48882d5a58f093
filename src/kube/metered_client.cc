#include "aliquot/kube/metered_client.h"

#include <algorithm>

namespace aliquot::kube {
namespace {

// The calls there are. Lists and watches of a resource that is not here count as
// those of "other".
enum Call : size_t {
  kGetPod,
  kGetNode,
  kPatchPod,
  kPatchNode,
  kBind,
  kCreateEvent,
  kPatchEvent,
  kListNodes,
  kListPods,
  kListQuotas,
  kListLeases,
  kListOther,
  kWatchNodes,
  kWatchPods,
  kWatchQuotas,
  kWatchLeases,
  kWatchOther,
  kCallCount,
};

struct CallName {
  std::string_view verb;
  std::string_view resource;
};
constexpr std::array<CallName, kCallCount> kNames = {{
    {"get", "pods"},
    {"get", "nodes"},
    {"patch", "pods"},
    {"patch", "nodes"},
    {"create", "bindings"},
    {"create", "events"},
    {"patch", "events"},
    {"list", "nodes"},
    {"list", "pods"},
    {"list", "resourcequotas"},
    {"list", "leases"},
    {"list", "other"},
    {"watch", "nodes"},
    {"watch", "pods"},
    {"watch", "resourcequotas"},
    {"watch", "leases"},
    {"watch", "other"},
}};

constexpr size_t kErrorCodes = static_cast<size_t>(ErrorCode::kCancelled) + 1;

// The call on the resource that `target`, e.g. "/api/v1/pods?limit=500", ends with.
Call OnResource(std::string_view target, Call nodes) {
  const std::string_view path = target.substr(0, target.find('?'));
  const std::string_view resource = path.substr(path.rfind('/') + 1);
  for (size_t call = nodes; call < nodes + 4; ++call)
    if (kNames[call].resource == resource) return static_cast<Call>(call);
  return static_cast<Call>(nodes + 4);
}

}  // namespace

struct MeteredClient::Calls {
  struct OfOne {
    Histogram took;
    Counter succeeded;
    std::array<Counter, kErrorCodes> failed;
  };

  // What `run` answers, counted.
  template <typename Run>
  auto Count(Call call, const Clock& clock, Run run) {
    OfOne& one = all[call];
    auto answer = Timed(one.took, clock, std::move(run));
    (answer ? one.succeeded : one.failed[static_cast<size_t>(answer.error().code)]).Add();
    return answer;
  }

  std::array<OfOne, kCallCount> all;
};

MeteredClient::MeteredClient(Api& api, ListWatcher& lists, const Clock& clock)
    : api_(api), lists_(lists), clock_(clock), calls_(std::make_unique<Calls>()) {}

MeteredClient::~MeteredClient() = default;

Result<Pod> MeteredClient::GetPod(std::string_view ns, std::string_view name,
                                  const CallOptions& call) {
  return calls_->Count(kGetPod, clock_, [&] { return api_.GetPod(ns, name, call); });
}

Result<Node> MeteredClient::GetNode(std::string_view name, const CallOptions& call) {
  return calls_->Count(kGetNode, clock_, [&] { return api_.GetNode(name, call); });
}

Result<Pod> MeteredClient::PatchPod(const ObjectRef& ref, const std::string& merge_patch,
                                    const CallOptions& call) {
  return calls_->Count(kPatchPod, clock_, [&] { return api_.PatchPod(ref, merge_patch, call); });
}

Result<Node> MeteredClient::PatchNode(std::string_view name, const std::string& merge_patch,
                                      const CallOptions& call) {
  return calls_->Count(kPatchNode, clock_, [&] { return api_.PatchNode(name, merge_patch, call); });
}

Result<void> MeteredClient::Bind(const Binding& binding, const CallOptions& call) {
  return calls_->Count(kBind, clock_, [&] { return api_.Bind(binding, call); });
}

Result<std::string> MeteredClient::CreateEvent(std::string_view ns, const std::string& event,
                                               const CallOptions& call) {
  return calls_->Count(kCreateEvent, clock_, [&] { return api_.CreateEvent(ns, event, call); });
}

Result<void> MeteredClient::PatchEvent(std::string_view ns, std::string_view name,
                                       const std::string& patch, const CallOptions& call) {
  return calls_->Count(kPatchEvent, clock_, [&] { return api_.PatchEvent(ns, name, patch, call); });
}

Result<std::string> MeteredClient::List(const std::string& target, const std::stop_token& stop) {
  return calls_->Count(OnResource(target, kListNodes), clock_,
                       [&] { return lists_.List(target, stop); });
}

Result<void> MeteredClient::Watch(const std::string& target, Duration longest,
                                  const std::function<bool(std::string_view line)>& on_line,
                                  const std::stop_token& stop) {
  return calls_->Count(OnResource(target, kWatchNodes), clock_,
                       [&] { return lists_.Watch(target, longest, on_line, stop); });
}

void MeteredClient::WriteMetrics(MetricsText& text) const {
  const auto labels = [](size_t call) {
    return Label("resource", kNames[call].resource) + Label("verb", kNames[call].verb);
  };
  text.Begin("aliquot_api_calls_total", MetricsText::Type::kCounter,
             "Calls of the API server by how they ended.");
  for (size_t call = 0; call < kCallCount; ++call) {
    const Calls::OfOne& one = calls_->all[call];
    const auto sample = [&](std::string_view code, const Counter& counter) {
      if (counter.value() == 0) return;
      text.Sample({Label("code", code), labels(call)}, static_cast<double>(counter.value()));
    };
    sample("ok", one.succeeded);
    for (size_t code = 0; code < kErrorCodes; ++code)
      sample(ErrorCodeName(static_cast<ErrorCode>(code)), one.failed[code]);
  }
  text.Begin("aliquot_api_call_duration_seconds", MetricsText::Type::kHistogram,
             "How long calls of the API server took, waiting for our own rate limit included.");
  for (size_t call = 0; call < kWatchNodes; ++call) {  // watches last as long as they may
    const Histogram& took = calls_->all[call].took;
    if (took.sum() > Duration::zero()) text.Sample(labels(call), took);
  }
}

}  // namespace aliquot::kube
