#include "cli/demo_screen.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace aliquot::cli {
namespace {

bool IsColourTerminal(const std::ostream& out) {
  const char* no_color = std::getenv("NO_COLOR");
  const bool unwanted = no_color != nullptr && *no_color != '\0';
  return &out == &std::cout && isatty(STDOUT_FILENO) == 1 && !unwanted;
}

// As it is seen: without escape sequences.
size_t WidthOf(const std::string& cell) {
  size_t width = 0;
  bool escape = false;
  for (const char c : cell) {
    if (c == '\033') escape = true;
    if (!escape) ++width;
    if (c == 'm') escape = false;
  }
  return width;
}

}  // namespace

Screen::Screen(std::ostream& out) : out_(out), colours_(IsColourTerminal(out)) {}

std::string Screen::Escape(const char* code, const std::string& text) const {
  return colours_ ? std::string("\033[") + code + "m" + text + "\033[0m" : text;
}

std::string Screen::Paint(Colour colour, const std::string& text) const {
  switch (colour) {
    case Colour::kRed:
      return Escape("31", text);
    case Colour::kGreen:
      return Escape("32", text);
    case Colour::kYellow:
      return Escape("33", text);
    case Colour::kNone:
      break;
  }
  return text;
}

std::string Screen::Bar(int64_t used, int64_t total, int width) const {
  const double part = total > 0 ? std::clamp(double(used) / double(total), 0.0, 1.0) : 0.0;
  const int full = used > 0 ? std::max(1, int(part * width)) : 0;
  const Colour colour = part > 0.9 ? Colour::kRed : part > 0.5 ? Colour::kYellow : Colour::kGreen;
  return "[" + Paint(colour, std::string(size_t(full), '#')) +
         std::string(size_t(width - full), '.') + "]";
}

void Table::Write(const Screen& screen) const {
  std::vector<size_t> widths(rows_.front().size());
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], WidthOf(row[i]));
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += &row == &rows_.front() ? screen.Bold(row[i]) : row[i];
      if (i + 1 < row.size()) line += std::string(widths[i] - WidthOf(row[i]) + 2, ' ');
    }
    screen.out() << line << "\n";
  }
}

std::string Padded(std::string text, size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

std::string RightAligned(const std::string& text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

}  // namespace aliquot::cli
