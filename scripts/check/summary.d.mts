/**
 * The part of vitest's JSON report that is counted.
 * @typedef {object} TestReport
 * @property {number} startTime
 * @property {boolean} success
 * @property {TestFile[]} testResults
 *
 * @typedef {object} TestFile
 * @property {string} name
 * @property {string} status
 * @property {number} endTime
 * @property {{ fullName: string, status: string }[]} assertionResults
 */
export type TestReport = {
    startTime: number;
    success: boolean;
    testResults: TestFile[];
};
export type TestFile = {
    name: string;
    status: string;
    endTime: number;
    assertionResults: {
        fullName: string;
        status: string;
    }[];
};
export type PackageTests = {
    name: string;
    /**
     * undefined: the package has tests and this run left no report of them
     */
    report: TestReport | undefined;
};
export type Counts = {
    name: string;
    passed: number;
    failed: number;
    skipped: number;
    seconds: number;
    /**
     * what failed, by name
     */
    problems: string[];
};
/**
 * @typedef {object} PackageTests
 * @property {string} name
 * @property {TestReport | undefined} report undefined: the package has tests and this run left no report of them
 */
/**
 * @typedef {object} Counts
 * @property {string} name
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {number} seconds
 * @property {string[]} problems what failed, by name
 */
/**
 * @param {PackageTests} tests
 * @returns {Counts}
 */
export declare function countTests({ name, report }: PackageTests): Counts;
/**
 * @param {readonly Counts[]} counts
 * @returns {string[]} lines: one for each package, what failed, and the totals alone on the last one
 */
export declare function describeCounts(counts: readonly Counts[]): string[];
/**
 * @param {readonly Counts[]} counts
 * @returns {{ passed: number, failed: number }}
 */
export declare function totals(counts: readonly Counts[]): {
    passed: number;
    failed: number;
};
