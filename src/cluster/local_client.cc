#include "aliquot/cluster/local_client.h"

#include "aliquot/kube/http.h"
#include "aliquot/kube/parse.h"

namespace aliquot::cluster {
namespace {

Error Cancelled() { return {ErrorCode::kCancelled, "shutting down"}; }

}  // namespace

Result<std::string> LocalClient::Send(Request request, const std::stop_token& stop,
                                      SteadyTime deadline) {
  if (stop.stop_requested()) return Cancelled();
  const bool write = request.method != "GET";
  const Response response = cluster_.Handle(request, stop, deadline);
  const std::string what = request.method + " " + request.target + ": ";
  if (response.delivery != Response::Delivery::kWhole) {
    if (stop.stop_requested()) return Cancelled();
    if (write) return Error{ErrorCode::kUnknownOutcome, what + "the answer was lost"};
    const bool late = std::chrono::steady_clock::now() >= deadline;
    return Error{late ? ErrorCode::kDeadline : ErrorCode::kUnavailable, what + "no answer"};
  }
  if (response.status >= 300) return kube::ErrorOfAnswer(response.status, response.body, write);
  return response.body;
}

Result<std::string> LocalClient::Call(const std::string& method, const std::string& target,
                                      const std::string& body, const std::string& content_type,
                                      const kube::CallOptions& call) {
  std::string type = content_type;
  if (type.empty()) type = method == "PATCH" ? kube::kMergePatch : kube::kJson;
  return Send({method, target, std::move(type), body}, stop_.get_token(), call.deadline);
}

Result<kube::Pod> LocalClient::GetPod(std::string_view ns, std::string_view name,
                                      const kube::CallOptions& call) {
  Result<std::string> body = Call("GET", kube::PodPath(ns, name), "", "", call);
  if (!body) return body.error();
  return kube::ParsePod(*body);
}

Result<kube::Node> LocalClient::GetNode(std::string_view name, const kube::CallOptions& call) {
  Result<std::string> body = Call("GET", kube::NodePath(name), "", "", call);
  if (!body) return body.error();
  return kube::ParseNode(*body);
}

Result<kube::Pod> LocalClient::PatchPod(const ObjectRef& ref, const std::string& merge_patch,
                                        const kube::CallOptions& call) {
  Result<std::string> body = Call("PATCH", kube::PodPath(ref.ns, ref.name), merge_patch, "", call);
  if (!body) return body.error();
  return kube::ParsePod(*body);
}

Result<kube::Node> LocalClient::PatchNode(std::string_view name, const std::string& merge_patch,
                                          const kube::CallOptions& call) {
  Result<std::string> body = Call("PATCH", kube::NodePath(name), merge_patch, "", call);
  if (!body) return body.error();
  return kube::ParseNode(*body);
}

Result<void> LocalClient::Bind(const kube::Binding& binding, const kube::CallOptions& call) {
  Result<std::string> answer =
      Call("POST", kube::PodPath(binding.pod.ns, binding.pod.name) + "/binding", binding.ToJson(),
           "", call);
  if (!answer) return answer.error();
  return {};
}

Result<std::string> LocalClient::CreateEvent(std::string_view ns, const std::string& event,
                                             const kube::CallOptions& call) {
  Result<std::string> body = Call("POST", kube::EventsPath(ns), event, "", call);
  if (!body) return body.error();
  Result<kube::ObjectMeta> meta = kube::ParseMeta(*body);
  if (!meta) return meta.error();
  return std::move(meta->name);
}

Result<void> LocalClient::PatchEvent(std::string_view ns, std::string_view name,
                                     const std::string& patch, const kube::CallOptions& call) {
  Result<std::string> body = Call("PATCH", kube::EventsPath(ns) + "/" + kube::UrlEscape(name),
                                  patch, kube::kStrategicPatch, call);
  if (!body) return body.error();
  return {};
}

Result<std::string> LocalClient::List(const std::string& target, const std::stop_token& stop) {
  if (stop_.stop_requested()) return Cancelled();
  return Send({"GET", target, "", ""}, stop, SteadyTime::max());
}

Result<void> LocalClient::Watch(const std::string& target, Duration,
                                const std::function<bool(std::string_view line)>& on_line,
                                const std::stop_token& stop) {
  std::stop_source either;
  const auto request_stop = [&either] { either.request_stop(); };
  const std::stop_callback first(stop, request_stop), second(stop_.get_token(), request_stop);
  const std::stop_token token = either.get_token();

  const Response response = cluster_.Handle({"GET", target, "", ""}, token);
  const auto broken = [&] {
    return token.stop_requested()
               ? Cancelled()
               : Error{ErrorCode::kUnavailable, "watch of " + target + ": the stream broke"};
  };
  if (response.delivery != Response::Delivery::kWhole) return broken();
  if (!response.watch) return kube::ErrorOfAnswer(response.status, response.body, false);
  using Kind = cluster::Watch::Piece::Kind;
  for (;;) {
    const cluster::Watch::Piece piece = response.watch->Next(token);
    if (token.stop_requested()) return Cancelled();
    if (piece.kind == Kind::kCut) return broken();
    if (piece.kind == Kind::kEnd) return {};
    if (!on_line(std::string_view(piece.text).substr(0, piece.text.size() - 1))) return {};
  }
}

}  // namespace aliquot::cluster
