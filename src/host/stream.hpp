// Rows whose destination is written around the caches: for transfers that the caches do not hold anyway. Only whole
// lines are written so; what lies before the first and after the last goes the ordinary way.
#pragma once

#include "host/rows.hpp"

namespace tempi::host {

// Null where going around the caches gains nothing (measured).
RowsFn choose_streaming(const Rows& rows);

}  // namespace tempi::host
