/** Commands that only a shell has, and that change nothing but the shell itself. */
export const BUILTINS: ReadonlySet<string> = new Set([
  ':', 'bg', 'break', 'caller', 'cd', 'command', 'continue', 'declare', 'dirs', 'disown', 'exec', 'exit', 'export', 'fg',
    'getopts', 'help',
  'history', 'jobs', 'let', 'local', 'logout', 'popd', 'pushd', 'read', 'readonly', 'return', 'set', 'shift', 'shopt', 'suspend',
  'times', 'type', 'typeset', 'ulimit', 'umask', 'unalias', 'unset', 'wait',
])

/** Those that can do nothing but tell something, in some ways of using them. */
export const LOOKING_BUILTINS: ReadonlySet<string> = new Set(['command', 'type', 'help', 'history'])

/** Those that run a text, a file or a name which the command's own text does not show, or change what a name means. */
export const EVALUATING_BUILTINS: ReadonlySet<string> = new Set([
  '.', 'alias', 'bind', 'builtin', 'compgen', 'complete', 'compopt', 'enable', 'eval', 'fc', 'hash', 'mapfile', 'readarray',
  'source', 'trap',
])
