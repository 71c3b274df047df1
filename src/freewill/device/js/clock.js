/**
 * @file When a report is handed out: at a deadline, for the time that a draw takes tells what was drawn.
 */

/** Milliseconds until the first deadline: well above what a draw takes. */
const QUANTUM = 5;
/** Milliseconds before a deadline from which the clock is watched: timers are late. */
const SPUN = 2;

/**
 * Do some work and give its result 5 ms after it began, or after twice, four times, ... as long, so
 * that a wait is never longer than the work before it, but for the first.
 *
 * @template T
 * @param {() => T | Promise<T>} work
 * @returns {Promise<T>}
 */
export async function handedOutAtADeadline(work) {
  const began = performance.now();
  const result = await work();
  let wait = QUANTUM;
  while (wait < performance.now() - began) wait *= 2;
  const asleep = began + wait - SPUN - performance.now();
  if (asleep > 0) await new Promise((resolve) => setTimeout(resolve, asleep));
  while (performance.now() - began < wait);
  return result;
}
