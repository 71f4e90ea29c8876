// The canonical form: equivalent datatypes get the same tree, and therefore the same plan.
#pragma once

#include "datatype/tree.hpp"

namespace tempi::datatype {

// Rewrites bottom-up until no rule applies. The byte sequence of the result is that of `tree`.
TreePtr canonicalise(const TreePtr& tree);

// One named rewrite rule, for tests and for explain: returns the rewritten node, or null where it does not apply.
struct Rule {
  const char* name;
  TreePtr (*apply)(const TreePtr& node);
};
const std::vector<Rule>& rules();

}  // namespace tempi::datatype
