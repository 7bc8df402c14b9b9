// The clock of the brokers: the browser's clock plus an offset, which events of the stream correct.

import * as live from "./live.js";

let aheadMs = 0;

/** Milliseconds since 1970 by the clock of the brokers. */
export function nowMs() {
  return Date.now() + aheadMs;
}

export function setNow(clock) {
  aheadMs = clock.now_ms - Date.now();
}

live.on(["clock"], setNow);
