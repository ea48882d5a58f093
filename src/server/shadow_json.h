// What a shadow has found, as JSON.
//
// Thread safety: any thread.
#pragma once

#include <string>

#include "aliquot/scheduler/shadow.h"

namespace aliquot::server {

std::string ShadowJson(const scheduler::Shadow& shadow);

}  // namespace aliquot::server
