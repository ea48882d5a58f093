// The time zone of this process, for as long as the object lives.
//
// Thread safety: none; nobody else may read the environment while it is set.
#pragma once

#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>

namespace aliquot::testing {

class Zone {
 public:
  explicit Zone(const std::string& name) {
    if (const char* before = std::getenv("TZ")) before_ = before;
    Set(name.c_str());
  }
  ~Zone() { Set(before_ ? before_->c_str() : nullptr); }
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;

 private:
  static void Set(const char* name) {
    if (name != nullptr)
      setenv("TZ", name, 1);
    else
      unsetenv("TZ");
    tzset();
  }

  std::optional<std::string> before_;
};

}  // namespace aliquot::testing
