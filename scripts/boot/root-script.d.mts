import type { Manifest } from './workspace.mjs';
/** @import { Manifest } from './workspace.mjs' */
/**
 * @param {Manifest} manifest of the root
 * @param {string | undefined} name
 * @returns {string} the command line
 */
export declare function rootScript({ scripts }: Manifest, name: string | undefined): string;
/**
 * A plain command replaces the shell that finds it, so that it receives signals itself; anything else stays the shell's.
 * @param {string} command
 * @returns {string}
 */
export declare function shellLine(command: string): string;
/**
 * Runs a script as `pnpm run` would, without starting pnpm.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string, env: NodeJS.ProcessEnv }} options
 * @returns {Promise<number>} the exit code
 */
export declare function runScript(command: string, args: readonly string[], options: {
    cwd: string;
    env: NodeJS.ProcessEnv;
}): Promise<number>;
