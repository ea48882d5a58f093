// `aliquot unlock`: takes a node's lock away by hand, after a device plugin that never
// gave it back.
#pragma once

#include <istream>
#include <string>

#include "aliquot/base/clock.h"
#include "aliquot/kube/api.h"
#include "cli/command.h"

namespace aliquot::cli {

Command UnlockCommand();

// Shows the node's locks with their pods, asks `answers` for a line (null: does not ask),
// and removes what it showed. A lock that has changed since is left alone. The exit status.
int Unlock(kube::Api& api, const std::string& node, std::istream* answers, const Clock& clock,
           Streams io);

}  // namespace aliquot::cli
