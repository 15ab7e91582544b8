/** By its value in the environment of a process, the run it descends from is told. */
export const RUN_VARIABLE = 'BULKHEAD_RUN'

/**
 * All that a command finds in its environment; nothing of the host's. HOME is a place where nothing can lie or be put,
 * not even by root: in the workspace, a stranger's `.gitconfig` or `.npmrc` would count as the user's own.
 */
export function cleanEnvironment(path: readonly string[], marker: string): NodeJS.ProcessEnv {
  return {
    PATH: path.join(':'),
    HOME: '/dev/null',
    LANG: 'C.UTF-8',
    [RUN_VARIABLE]: marker,
    // Node hands the host's own value on unless the name is taken; without a value it is not handed on at all.
    NODE_V8_COVERAGE: undefined,
  }
}
