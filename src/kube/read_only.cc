#include "aliquot/kube/read_only.h"

namespace aliquot::kube {
namespace {

Error Refused() { return {ErrorCode::kForbidden, "this process writes nothing (--shadow)"}; }

}  // namespace

Result<Pod> ReadOnlyApi::GetPod(std::string_view ns, std::string_view name,
                                const CallOptions& options) {
  return api_.GetPod(ns, name, options);
}

Result<Node> ReadOnlyApi::GetNode(std::string_view name, const CallOptions& options) {
  return api_.GetNode(name, options);
}

Result<Pod> ReadOnlyApi::PatchPod(const ObjectRef&, const std::string&, const CallOptions&) {
  return Refused();
}

Result<Node> ReadOnlyApi::PatchNode(std::string_view, const std::string&, const CallOptions&) {
  return Refused();
}

Result<void> ReadOnlyApi::Bind(const Binding&, const CallOptions&) { return Refused(); }

Result<std::string> ReadOnlyApi::CreateEvent(std::string_view, const std::string&,
                                             const CallOptions&) {
  return Refused();
}

Result<void> ReadOnlyApi::PatchEvent(std::string_view, std::string_view, const std::string&,
                                     const CallOptions&) {
  return Refused();
}

}  // namespace aliquot::kube
