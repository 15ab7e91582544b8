/**
 * For npm and pnpm while they fetch.
 * @param {NodeJS.ProcessEnv} environment
 * @returns {NodeJS.ProcessEnv}
 */
export declare function installEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
/**
 * For a script of the root package.json: the workspace's own tools come first.
 * @param {NodeJS.ProcessEnv} environment
 * @param {readonly string[]} folders
 * @returns {NodeJS.ProcessEnv}
 */
export declare function scriptEnvironment(environment: NodeJS.ProcessEnv, folders: readonly string[]): NodeJS.ProcessEnv;
