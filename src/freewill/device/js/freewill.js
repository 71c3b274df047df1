/**
 * @file Free-will privacy on a person's device: read a survey, choose, draw a noisy report, send it.
 *
 * Reports are drawn from `crypto.getRandomValues` by whole numbers alone, by the same procedure as
 * in freewill for Python: docs/devices.md.
 */

export { Categorical, Grid, Linear, alphabetFromSpec } from "./alphabets.js";
export { Budget, BudgetError, cost } from "./budget.js";
export { Collector } from "./collector.js";
export { Cover } from "./cover.js";
export { Device } from "./device.js";
export { Chance, GivenBytes, SystemBytes, Table, below, coin, system } from "./draws.js";
export { FreewillError } from "./errors.js";
export { explain, explainChoice, explainOdds, explainSurvey } from "./explain.js";
export { Family } from "./family.js";
export { ENGLISH, Words } from "./figures.js";
export { hexadecimal, surveyId } from "./ids.js";
export { LANGUAGES, bestLanguage } from "./languages.js";
export { chancesFrom } from "./law.js";
export { checkLogged, verifyLog } from "./log.js";
export { Geometric, Identity, KRR, Matrix, PlanarGeometric, RAPPOR, Shokri, Silent } from "./mechanisms.js";
export { DeviceError, Memory, temporary } from "./memory.js";
export { mechanismFromSpec } from "./registry.js";
export { Questionnaire, Survey, explainSum } from "./survey.js";
