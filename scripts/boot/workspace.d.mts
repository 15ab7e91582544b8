export type Manifest = {
    name?: string;
    packageManager?: string;
    scripts?: Record<string, string>;
    dependencies?: Record<string, string>;
    devDependencies?: Record<string, string>;
    optionalDependencies?: Record<string, string>;
};
/**
 * @typedef {object} Manifest
 * @property {string} [name]
 * @property {string} [packageManager]
 * @property {Record<string, string>} [scripts]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [devDependencies]
 * @property {Record<string, string>} [optionalDependencies]
 */
/**
 * @param {string} folder
 * @returns {Manifest}
 */
export declare function readManifest(folder: string): Manifest;
/**
 * The folders of the workspace's packages, relative to its root, in a fixed order.
 * @param {string} root
 * @returns {string[]}
 */
export declare function workspaceFolders(root: string): string[];
