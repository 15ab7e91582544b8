/**
 * What to tell someone whose Node cannot run the setup, or an empty string when it can.
 * Written for old engines: see boot.mjs.
 * @param {string} version as in process.versions.node
 * @returns {string}
 */
export declare function refuseNodeVersion(version: string): string;
