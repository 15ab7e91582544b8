export type PackedManifest = {
    name: string;
    version: string;
    exports?: unknown;
    bin?: string | Record<string, string>;
    dependencies?: Record<string, string>;
    peerDependencies?: Record<string, string>;
    optionalDependencies?: Record<string, string>;
    devDependencies?: Record<string, string>;
};
/**
 * @typedef {object} PackedManifest
 * @property {string} name
 * @property {string} version
 * @property {unknown} [exports]
 * @property {string | Record<string, string>} [bin]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [peerDependencies]
 * @property {Record<string, string>} [optionalDependencies]
 * @property {Record<string, string>} [devDependencies]
 */
/**
 * What a published package must not contain or lack, seen from its unpacked tarball.
 * @param {string} folder
 * @returns {{ manifest: PackedManifest, files: string[], problems: string[] }}
 */
export declare function inspectContents(folder: string): {
    manifest: PackedManifest;
    files: string[];
    problems: string[];
};
