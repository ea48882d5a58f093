// What the API server sends to a mutating admission webhook for pods, cut down to
// what we look at. Read as parse.h says: unknown keys skipped, null absent, errors
// (kInvalid) that name the field.
//
// Thread safety: every function from any thread (a parser per thread inside).
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/env_var.h"
#include "aliquot/base/result.h"
#include "aliquot/base/string_map.h"

namespace aliquot::kube {

// admission.k8s.io, v1 or v1beta1. Views live as long as the JSON.
struct AdmissionReview {
  std::string api_version;  // empty: not there
  std::string uid;          // of the request, to be repeated in the answer
  std::string ns;
  std::string operation;    // "CREATE", ...
  std::string_view object;  // its JSON, whatever that is; empty: none
};

struct SubmittedContainer {
  std::string name;
  StringMap limits;  // quantities are text, as in types.h
  StringMap requests;
  std::vector<EnvVar> env;
  bool restart_always = false;  // of an init container: a sidecar
  bool privileged = false;

  bool operator==(const SubmittedContainer&) const = default;
};

// A pod that is to be created, or changed.
struct SubmittedPod {
  StringMap annotations;
  StringMap labels;
  std::string scheduler_name;
  std::string node_name;
  std::string runtime_class;
  std::vector<SubmittedContainer> init_containers;
  std::vector<SubmittedContainer> containers;

  // JSON pointers of its objects and lists that something may be added to.
  std::set<std::string, std::less<>> parents;

  bool operator==(const SubmittedPod&) const = default;
};

Result<AdmissionReview> ParseAdmissionReview(std::string_view json);

// Whose review it is, as far as the beginning of its text tells: api_version and uid. What
// stands before the first object is passed over.
AdmissionReview ReadReviewBeginning(std::string_view beginning);

// An object that says of itself that it is something else than a v1 Pod is an error.
Result<SubmittedPod> ParseSubmittedPod(std::string_view json);

}  // namespace aliquot::kube
