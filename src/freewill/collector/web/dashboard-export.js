/**
 * @file What is taken along as files, made or fetched when somebody asks for it.
 */

import { RefusedError } from "./dashboard-api.js";

const status = document.getElementById("export-state");

/**
 * Let the browser save a file.
 *
 * @param {Blob} content
 * @param {string} name
 */
function save(content, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/**
 * Make a button save what some work makes.
 *
 * @param {string} id
 * @param {string} ending
 * @param {import("./dashboard-api.js").Collector} collector
 * @param {() => Promise<Blob>} make
 * @param {(error: RefusedError) => void} refused
 */
export function exporting(id, ending, collector, make, refused) {
  const button = /** @type {HTMLButtonElement} */ (document.getElementById(id));
  button.addEventListener("click", async () => {
    button.disabled = true;
    status.textContent = "One moment.";
    try {
      const name = `${collector.survey}.${ending}`;
      save(await make(), name);
      status.textContent = `Saved as ${name}.`;
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      status.textContent = `${error.message}. ${error.advice}`;
      refused(error);
    } finally {
      button.disabled = false;
    }
  });
}
