// What the demo prints: columns of text, bars, and colours where somebody looks
// at a terminal.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace aliquot::cli {

class Screen {
 public:
  enum class Colour { kNone, kRed, kGreen, kYellow };

  // Colours only if `out` is standard output, that is a terminal, and NO_COLOR is
  // not set.
  explicit Screen(std::ostream& out);

  std::ostream& out() const { return out_; }
  std::string Bold(const std::string& text) const { return Escape("1", text); }
  std::string Paint(Colour colour, const std::string& text) const;

  // "[######......]", of this many characters between the brackets. What is in use
  // shows at least one.
  std::string Bar(int64_t used, int64_t total, int width) const;

 private:
  std::string Escape(const char* code, const std::string& text) const;

  std::ostream& out_;
  bool colours_;
};

// Rows of cells below a head, columns as wide as their widest cell.
class Table {
 public:
  explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}

  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void Write(const Screen& screen) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// At least so wide, with blanks behind; or before.
std::string Padded(std::string text, size_t width);
std::string RightAligned(const std::string& text, size_t width);

}  // namespace aliquot::cli
