/**
 * @file Whether this browser, at this address, can keep what the page promises.
 */

import { filled } from "../device/figures.js";
import { Kept } from "./answer-kept.js";
import TEXTS from "./answer-texts.js";

const TRIAL = "freewill trial";

/**
 * Say what is missing, if anything is.
 *
 * @returns {Promise<string | null>}
 */
export async function missing() {
  const words = TEXTS.unable;
  if (typeof globalThis.crypto?.getRandomValues !== "function") return words.random;
  // Asked before the stores: without https, some browsers hide these too.
  if (!globalThis.navigator?.locks) return globalThis.isSecureContext ? filled(words.old, { why: "navigator.locks" }) : words.locks;
  try {
    localStorage.setItem(TRIAL, TRIAL);
    const same = localStorage.getItem(TRIAL) === TRIAL;
    localStorage.removeItem(TRIAL);
    if (!same) return filled(words.store, { why: "localStorage" });
    await new Kept().open();
  } catch (error) {
    return filled(words.store, { why: error instanceof Error ? error.name : String(error) });
  }
  return null;
}
