// The three kinds of patch.
#pragma once

#include <string_view>

#include "cluster/outcome.h"

namespace aliquot::cluster {

// JSON text of bounded depth; errors are for a human.
Outcome<Json> ParseJson(std::string_view text);

// `object` as it is after the patch. `content_type` says which kind of patch it
// is; another one is refused with 415.
Outcome<Json> ApplyPatch(Json object, std::string_view content_type, std::string_view patch);

}  // namespace aliquot::cluster
