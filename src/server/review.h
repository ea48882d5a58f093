// The JSON of POST /webhook: admission.k8s.io AdmissionReviews, v1 and v1beta1. The
// API server lets a pod through on anything but a 200 that it can read, so every
// call is answered with a review, also one that makes no sense.
//
// The patch changes the JSON that was submitted: what we do not know stays as it is.
//
// Thread safety: every function from any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "aliquot/scheduler/admission.h"
#include "aliquot/scheduler/extender.h"
#include "server/head.h"

namespace aliquot::server {

// `content_type`: as it was sent.
std::string AnswerReview(scheduler::Extender& extender, std::string_view content_type,
                         std::string_view body);

// The answer to a call that was rejected before all of it was here, from what is here of
// its body: whose review it was. `cap`: how many bytes it may have.
std::string RefuseReview(std::string_view beginning, const Rejection& rejection, size_t cap);

// The JSON patch (RFC 6902) from the one pod to the other, whose containers are the
// same; empty if nothing differs.
std::string PatchBetween(const kube::SubmittedPod& from, const kube::SubmittedPod& to);

}  // namespace aliquot::server
