/**
 * @file Asking again and again: soon where something comes, seldom where nothing does, not at all
 * where nobody looks.
 */

const LEAST = 2000;
const MOST = 30000;
const SLOWER = 1.4;

/** Calls `ask` one at a time for as long as the page is seen and it is not paused. */
export class Live {
  #timer = 0;
  #running = false;
  #again = false;
  #delay = LEAST;

  /** @param {() => Promise<boolean>} ask says whether something came, or is about to */
  constructor(ask) {
    this.ask = ask;
    this.paused = false;
    document.addEventListener("visibilitychange", () => document.hidden || this.now());
  }

  /** Ask now, unless it is paused or hidden. */
  async now() {
    if (this.#running) {
      this.#again = true;
      return;
    }
    clearTimeout(this.#timer);
    if (this.paused || document.hidden) return;
    this.#running = true;
    let came = false;
    try {
      came = await this.ask();
    } finally {
      this.#running = false;
      this.#delay = came ? LEAST : Math.min(MOST, this.#delay * SLOWER);
      const delay = this.#again ? 0 : this.#delay;
      this.#again = false;
      this.#timer = setTimeout(() => this.now(), delay);
    }
  }

  /** @param {boolean} paused */
  pause(paused) {
    this.paused = paused;
    clearTimeout(this.#timer);
    this.#delay = LEAST;
    if (!paused) this.now();
  }
}
