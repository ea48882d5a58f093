// EnvVar: one entry of a container's env list.
#pragma once

#include <string>

namespace aliquot {

struct EnvVar {
  std::string name;
  std::string value;  // empty too where it comes from elsewhere (valueFrom)

  bool operator==(const EnvVar&) const = default;
};

}  // namespace aliquot
