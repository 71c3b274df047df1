/**
 * @file What a survey says to people, its short name, and by which spans of time it is counted.
 *
 * Texts may be mended while people answer: none of them is part of what the id of a survey hashes.
 */

import { FreewillError, checkText, isNumbers, isObject, listed, refuseIf, shown } from "./errors.js";

/** Fields that a survey of several questions has once, and none of its questions. */
export const WHOLE = ["name", "period", "introduction", "contact", "consent", "logo", "language"];
/** All fields that are checked here. */
export const ADDED = [...WHOLE, "translations", "background"];
const PERIODS = ["day", "week", "month", "none"];
/** @type {Record<string, [number, number]>} the least and greatest number of characters */
const LENGTHS = { title: [1, 200], question: [1, 1000], question_id: [8, 200], contact: [1, 200], consent: [1, 1000] };
const LONGEST_INTRODUCTION = 4000;
const LONGEST_TEXT = 1000;
const ADDRESS = /^(?=.{2,60}$)[a-z0-9]+(?:-[a-z0-9]+)*$/;
const ID = /^[0-9a-f]{32}$/;
const LANGUAGE = /^[a-z]{2,3}(?:-[A-Z][a-z]{3})?(?:-(?:[A-Z]{2}|[0-9]{3}))?$/;
const MOST_LANGUAGES = 100;
const TRANSLATED = ["title", "question", "introduction", "contact", "consent"];
const TRANSLATION = [...TRANSLATED, "descriptions", "names", "labels"];
const LOGO_BYTES = 1 << 16;

/**
 * Return the fields that a survey has beside its alphabet and mechanisms, after checking them.
 *
 * @param {Record<string, any>} given
 * @param {import("./alphabets.js").Alphabet | null} alphabet null of several questions
 * @param {string[]} mechanisms the names that people are shown
 * @returns {Record<string, any>}
 */
export function checkedTexts(given, alphabet, mechanisms) {
  const texts = Object.fromEntries(ADDED.map((field) => [field, given[field] ?? null]));
  const { name, period, logo, language } = texts;
  refuseIf(name !== null && (typeof name !== "string" || !ADDRESS.test(name) || ID.test(name)), () =>
    `name=${shown(name)}: expected 2 to 60 small letters a to z, digits and single hyphens between them, such as ` +
    "'commute-2026', and no id.");
  refuseIf(period !== null && !PERIODS.includes(period), () => `period=${shown(period)}: expected ${listed(PERIODS)}.`);
  for (const field of ["introduction", "contact", "consent"]) checkWords(texts[field], field);
  if (logo !== null) checkPicture(logo, "logo", LOGO_BYTES, ["png", "jpeg", "webp", "svg+xml"]);
  if (language !== null) checkLanguage(language, "language");
  checkBackground(texts.background, alphabet);
  texts.translations = checkedTranslations(texts.translations ?? {}, language, alphabet?.labels ?? [], mechanisms);
  return texts;
}

/** @type {(text: any, field: string, what?: string) => void} refuses what cannot be shown; an introduction has lines */
export function checkWords(text, field, what = field) {
  if (text === null) return;
  if (field !== "introduction" || typeof text !== "string") {
    const [least, most] = LENGTHS[field] ?? [1, LONGEST_TEXT];
    checkText(text, what, least, most);
    return;
  }
  const many = [...text].length;
  refuseIf(many > LONGEST_INTRODUCTION, () =>
    `${what} has ${many} characters: expected at most ${LONGEST_INTRODUCTION}.`);
  const lines = text.split("\n").filter((line) => line !== "");
  for (const line of lines.length ? lines : [""]) checkText(line, what, 1, LONGEST_INTRODUCTION);
}

/** @type {(tag: unknown, what: string) => void} */
function checkLanguage(tag, what) {
  if (typeof tag === "string" && LANGUAGE.test(tag)) return;
  throw new FreewillError(`${what} ${shown(tag)}: expected a tag such as 'de' or 'pt-BR'.`);
}

/** @type {(given: any, own: string | null, labels: readonly string[], mechanisms: string[]) => Record<string, any>} */
function checkedTranslations(given, own, labels, mechanisms) {
  refuseIf(!isObject(given) || Object.keys(given).length > MOST_LANGUAGES, () =>
    `translations=${shown(given)}: expected texts by language, of at most ${MOST_LANGUAGES}, such as {'de': ` +
    "{'question': 'Wie alt sind Sie?'}}.");
  for (const [tag, words] of Object.entries(given)) {
    checkLanguage(tag, "translation into");
    refuseIf(tag === own, () => `a translation into ${shown(tag)}, the survey's own language: leave one of them out.`);
    refuseIf(!isObject(words), () => `translation ${shown(tag)} is ${shown(words)}: expected texts by their names.`);
    for (const [field, text] of Object.entries(words)) {
      const what = `translation ${shown(tag)}: ${field}`;
      refuseIf(!TRANSLATION.includes(field), () =>
        `translation ${shown(tag)} of ${shown(field)}: expected ${listed(TRANSLATION)}.`);
      if (TRANSLATED.includes(field)) checkWords(text ?? "", field, what);
      else checkShown(text, what, field === "labels" ? labels : mechanisms, field !== "descriptions");
    }
  }
  return given;
}

/** @type {(given: any, what: string, offered: readonly string[], unlike: boolean) => void} */
function checkShown(given, what, offered, unlike) {
  if (!isObject(given)) throw new FreewillError(`${what} ${shown(given)}: expected an object of texts.`);
  for (const [key, text] of Object.entries(given)) {
    if (!offered.includes(key)) {
      const expected = offered.length ? `expected ${listed([...offered])}` : "there are none";
      throw new FreewillError(`${what} of ${shown(key)}, which is not on offer: ${expected}.`);
    }
    checkText(text ?? "", `${what} of ${shown(key)}:`, 1, LONGEST_TEXT);
  }
  if (unlike) refuseAlike(offered.map((key) => [key, Object.hasOwn(given, key) ? given[key] : key]), `${what}: `);
}

/** @type {(names: [string, string][], before?: string) => void} refuses two that look the same to people, but for blanks and marks that nobody sees */
export function refuseAlike(names, before = "") {
  const looks = new Map();
  for (const [name, text] of names) {
    const look = text.normalize("NFKC").replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Z}]/gu, "");
    refuseIf(looks.has(look), () =>
      `${before}${shown(looks.get(look))} and ${shown(name)} look the same to people: rename one.`);
    looks.set(look, name);
  }
}

const PICTURE = /^data:image\/([a-z+]+);base64,([A-Za-z0-9+/]+={0,2})$/;
/** @type {Record<string, string>} the first bytes of pictures, by which a browser tells what they are */
const BEGINS = { png: "\x89PNG\r\n\x1a\n", jpeg: "\xff\xd8\xff", webp: "RIFF" };
const BACKGROUND_BYTES = 1 << 21;
/** Degrees or kilometres: more than the earth has. */
const FARTHEST = 1e6;
const KINDS = ["area", "water", "road", "place"];
/** @type {Record<string, number>} how deep the positions of a geometry lie in lists */
const DEPTHS = { Point: 0, MultiPoint: 1, LineString: 1, MultiLineString: 2, Polygon: 2, MultiPolygon: 3 };
/** @type {Record<string, number>} */
const LEAST = { Point: 1, LineString: 2, Polygon: 4 };
/** @type {Record<string, string>} */
const OWN_KIND = { Point: "place", LineString: "road", Polygon: "area" };
const MOST_FEATURES = 20_000;

/**
 * One thing on a map: rings of an area, lines, or points, each a list of positions [x, y].
 *
 * @typedef {{kind: string, name: string, form: "Polygon" | "LineString" | "Point", parts: number[][][]}} Feature
 */

/** @type {(given: unknown, what: string, most: number, kinds: string[]) => void} a picture as a data: address */
export function checkPicture(given, what, most, kinds) {
  const [, kind, content] = (typeof given === "string" && PICTURE.exec(given)) || [];
  const whole = kinds.includes(kind) && content.length % 4 === 0 && (content.length / 4) * 3 <= most;
  refuseIf(!(whole && (!(kind in BEGINS) || atob(content.slice(0, 16)).startsWith(BEGINS[kind]))), () =>
    `${what} ${shown(given)}: expected a picture as 'data:image/${kinds[0]};base64,...' ` +
    `(${kinds.slice(0, -1).join(", ")} or ${kinds.at(-1)}), of at most ${most >> 10} KiB.`);
}

/** @type {(given: any, alphabet: any) => void} what lies under the cells of a map */
export function checkBackground(given, alphabet) {
  if (given === null) return;
  const kinds = isObject(given) ? ["geojson", "image"].filter((kind) => Object.hasOwn(given, kind)) : [];
  const fields = ["attribution", ...kinds, ...(kinds[0] === "image" ? ["bounds"] : [])];
  refuseIf(kinds.length !== 1 || Object.keys(given).some((field) => !fields.includes(field)), () =>
    `background=${shown(given)}: expected {'geojson': ...} or {'image': ..., 'bounds': [south, north, west, ` +
    "east]} and, if you like, attribution. See docs/surveys.md.");
  if (alphabet?.kind !== "grid") throw new FreewillError(`a background over ${alphabet}: only the cells of a grid have one.`);
  const size = JSON.stringify(given).length;
  refuseIf(size > BACKGROUND_BYTES, () => `background of ${size} bytes: at most ${BACKGROUND_BYTES}. Simplify it.`);
  checkText(given.attribution ?? null, "attribution", 1, 200);
  if (kinds[0] === "image") {
    checkPicture(given.image, "background", BACKGROUND_BYTES, ["png", "jpeg", "webp"]);
    checkBox(given.bounds);
  } else checkFeatures(given.geojson, alphabet.bounds === null ? [FARTHEST, FARTHEST] : [180, 90]);
}

/** @param {any} given */
function checkBox(given) {
  const near = isNumbers(given) && given.length === 4 && given.every((one) => Math.abs(one) <= FARTHEST);
  refuseIf(!(near && given[0] < given[1] && given[2] < given[3]), () =>
    `bounds=${shown(given)} of a background: expected [south, north, west, east], or [bottom, top, left, right] ` +
    "in km on a plane, as numbers that rise.");
}

/** @type {(given: any, most: number[]) => void} refuses what is no FeatureCollection that can be drawn */
function checkFeatures(given, most) {
  refuseIf(!isObject(given) || given.type !== "FeatureCollection" || !Array.isArray(given.features), () =>
    `geojson=${shown(given)}: expected a FeatureCollection.`);
  refuseIf(given.features.length > MOST_FEATURES, () =>
    `a map of ${given.features.length} features: at most ${MOST_FEATURES}. Leave some out.`);
  given.features.forEach((/** @type {any} */ feature, /** @type {number} */ number) => {
    const fault = faultOf(feature, most);
    if (fault) throw new FreewillError(`feature ${number} of the map ${fault}`);
    checkText(feature.properties?.name ?? null, `name of feature ${number} of the map:`, 1, 200);
  });
}

/** @type {(feature: any, most: number[]) => string} what is wrong with it, or nothing */
function faultOf(feature, most) {
  if (!isObject(feature) || feature.type !== "Feature" || !isObject(feature.geometry)) {
    return `is ${shown(feature)}: expected a Feature with a geometry.`;
  }
  const { geometry, properties = null } = feature;
  if (properties !== null && !isObject(properties)) {
    return `has properties=${shown(properties)}: expected an object, such as {'name': 'Mill'}.`;
  }
  const kind = properties?.kind ?? null;
  if (kind !== null && !KINDS.includes(kind)) return `is of kind ${shown(kind)}: expected one of ${KINDS.join(", ")}.`;
  const form = geometry.type;
  if (typeof form !== "string" || !Object.hasOwn(DEPTHS, form)) {
    return `is a ${shown(form)}: expected one of ${Object.keys(DEPTHS).join(", ")}.`;
  }
  const own = form.replace("Multi", "");
  for (const positions of positionsOf(geometry)) {
    if (!Array.isArray(positions) || positions.length < LEAST[own]) {
      return `has ${shown(positions)} for a ${own}: expected ${LEAST[own]} positions or more.`;
    }
    const wrong = positions.filter((one) => !isPosition(one, most));
    if (wrong.length) {
      return `has the position ${shown(wrong[0])}: expected [x, y] in finite numbers, up to ${most[0]} and ${most[1]} to either side.`;
    }
    const [first, last] = [positions[0], positions[positions.length - 1]];
    if (own === "Polygon" && (first[0] !== last[0] || first[1] !== last[1])) {
      return "has a ring that is not closed: its last position must be its first.";
    }
  }
  return "";
}

/** @type {(geometry: any) => any[]} the rings, lines or points of a geometry; null for what is none */
function positionsOf({ type, coordinates }) {
  const point = type.endsWith("Point");
  const deep = (/** @type {any} */ nested, /** @type {number} */ depth) => {
    if (depth === 0) return [point ? [nested] : nested];
    return Array.isArray(nested) ? nested.flatMap((inner) => deep(inner, depth - 1)) : [null];
  };
  return deep(coordinates, DEPTHS[type] - Number(!point));
}

/** @type {(given: any, most: number[]) => boolean} */
function isPosition(given, most) {
  return isNumbers(given) && given.length >= 2 && given.length <= 3 && most.every((far, axis) => Math.abs(given[axis]) <= far);
}

/** @type {(geojson: any) => Feature[]} features that were checked, each of a kind */
export function readFeatures({ features }) {
  return features.map((/** @type {any} */ { geometry, properties }) => {
    const form = geometry.type.replace("Multi", "");
    const parts = positionsOf(geometry).map((some) => some.map((/** @type {number[]} */ [x, y]) => [x, y]));
    return { kind: properties?.kind ?? OWN_KIND[form], name: properties?.name ?? "", form, parts };
  });
}

/** @type {(feature: Feature, point: number[]) => boolean} whether a half-line from a point crosses its rings oddly often */
export function holds({ form, parts }, [x, y]) {
  if (form !== "Polygon") return false;
  let inside = false;
  for (const ring of parts) {
    for (let i = 1; i < ring.length; i += 1) {
      const [[left, low], [right, up]] = [ring[i - 1], ring[i]];
      if (low > y !== up > y && left + ((y - low) / (up - low)) * (right - left) > x) inside = !inside;
    }
  }
  return inside;
}
