/**
 * @file Charts by Plotly, which takes texts for a kind of HTML: here they are text.
 */

/** @typedef {import("./dashboard-theme.js").Theme} Theme */
/** @typedef {{data: object[], layout: object, height: number}} Figure */

/** Nothing but the chart: no buttons, no addresses of other machines. */
const CONFIG = {
  displayModeBar: false,
  displaylogo: false,
  responsive: true,
  showSendToCloud: false,
  showLink: false,
  plotlyServerURL: "",
  topojsonURL: "",
  scrollZoom: false,
  doubleClick: false,
};
const PICTURE = { width: 1200, scale: 2 };
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/**
 * Return a text that Plotly shows as it is: no tags, links or entities in it.
 *
 * @param {string} text
 */
export const plain = (text) => text.replace(/[&<>]/g, (letter) => ENTITIES[letter]);

/**
 * Return what all charts share.
 *
 * @param {Theme} theme
 */
export function base(theme) {
  const font = { family: "system-ui, sans-serif", size: 13, color: theme.ink };
  return {
    font,
    paper_bgcolor: theme.ground,
    plot_bgcolor: theme.ground,
    margin: { l: 8, r: 8, t: 34, b: 8 },
    dragmode: false,
    hoverlabel: { bgcolor: theme.ground, bordercolor: theme.quiet, font, align: "left", namelength: -1 },
    legend: {
      orientation: "h",
      x: 0,
      y: 1.02,
      xanchor: "left",
      yanchor: "bottom",
      traceorder: "normal",
      itemclick: false,
      itemdoubleclick: false,
    },
  };
}

/**
 * @param {Theme} theme
 * @param {string} title
 * @param {object} more
 */
export function axis(theme, title, more = {}) {
  return {
    ...(title ? { title: { text: plain(title), standoff: 10 } } : {}),
    gridcolor: theme.grid,
    linecolor: theme.quiet,
    zerolinecolor: theme.quiet,
    automargin: true,
    fixedrange: true,
    ...more,
  };
}

/**
 * Draw a chart, or change the one that is there.
 *
 * @param {HTMLElement} place
 * @param {Figure} figure
 * @param {string} told what it shows, for those who do not see it
 */
export async function draw(place, figure, told) {
  if (globalThis.Plotly === undefined) {
    place.textContent = `The library that draws charts is missing: pip install "freewill[serve]". ${told}`;
    return;
  }
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", told);
  place.style.height = `${figure.height}px`;
  const layout = { ...figure.layout, height: figure.height, autosize: true };
  await globalThis.Plotly.react(place, figure.data, layout, CONFIG);
}

/**
 * Return a chart as the bytes of a PNG.
 *
 * @param {Figure} figure
 * @param {string} title
 * @returns {Promise<Blob>}
 */
export async function png(figure, title) {
  const height = figure.height + 60;
  const margin = { l: 16, r: 16, t: 80, b: 16 };
  const layout = { ...figure.layout, title: { text: plain(title), x: 0.02, font: { size: 18 } }, margin };
  const size = { format: "png", ...PICTURE, height };
  const address = await globalThis.Plotly.toImage({ data: figure.data, layout, config: CONFIG }, size);
  const bytes = Uint8Array.from(atob(address.slice(address.indexOf(",") + 1)), (one) => one.charCodeAt(0));
  return new Blob([bytes], { type: "image/png" });
}
