import type { Manifest } from './workspace.mjs';
/** @import { Manifest } from './workspace.mjs' */
/**
 * The version of Node that the workspace brings for this machine: one optional dependency of the root for each platform.
 * @param {Manifest} manifest of the root
 * @param {string} platform
 * @param {string} arch
 * @returns {string}
 */
export declare function pinnedNode({ optionalDependencies }: Manifest, platform: string, arch: string): string;
/**
 * @param {string} executable
 * @param {string} version
 */
export declare function tryOutNode(executable: string, version: string): void;
