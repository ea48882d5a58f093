// The JSON of the scheduler extender's requests and answers: kube-scheduler's
// extender v1 types, whose keys are capitalised and never left out.
//
// Reading: keys in any case, and of several the one that is spelled exactly;
// null is absent; unknown keys and whatever follows the first JSON value are
// skipped. Errors (kInvalid) name the field. Parts that nobody reads are not
// checked beyond their brackets.
//
// Thread safety: every function from any thread (a parser per thread inside).
#pragma once

#include <string>

#include "aliquot/base/result.h"
#include "aliquot/scheduler/extender.h"

namespace aliquot::server {

// `body` becomes part of the request's storage; with 64 spare bytes of capacity
// it is not copied.
Result<scheduler::FilterRequest> ParseFilterRequest(std::string body);
Result<scheduler::BindRequest> ParseBindRequest(std::string body);

// `request`: whose nodes the answer echoes.
std::string ToJson(const scheduler::FilterAnswer& answer, const scheduler::FilterRequest& request);
std::string ToJson(const scheduler::BindAnswer& answer);

}  // namespace aliquot::server
