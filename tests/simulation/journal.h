// What has happened in one seed, step by step: a hash of all of it, and the last lines for
// whoever has to find out why a rule was broken.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

namespace aliquot::simulation {

class Journal {
 public:
  Journal(uint64_t seed, bool print) : seed_(seed), print_(print) {}

  void Say(const std::string& what);

  // Tells of the broken rule and ends the program with 1.
  [[noreturn]] void Violation(const std::string& rule, const std::string& what);

  uint64_t hash() const { return hash_; }
  uint64_t steps() const { return steps_; }

 private:
  static constexpr size_t kKept = 40;

  const uint64_t seed_;
  const bool print_;
  uint64_t hash_ = 0xcbf29ce484222325U;  // FNV-1a
  uint64_t steps_ = 0;
  std::deque<std::string> last_;
};

}  // namespace aliquot::simulation
