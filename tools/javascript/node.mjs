/** @file One trial in Node: node node.mjs MODULE JOB BYTES, the result on the standard output. */

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

import { TRIALS } from "./trial.js";

const [module, job, bytes] = process.argv.slice(2);
const freewill = await import(pathToFileURL(module).href);
const { trial, given } = JSON.parse(readFileSync(job, "utf8"));
const result = await TRIALS[trial](freewill, given, new Uint8Array(readFileSync(bytes)));
process.stdout.write(JSON.stringify(result));
