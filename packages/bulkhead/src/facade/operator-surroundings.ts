import { isAbsolute } from 'node:path'
import type { OperatorEnvironment } from '@bulkhead/sandbox'

type Variables = Readonly<Record<string, string | undefined>>

/** Variables that programs need to find the settings of the user. No credentials. */
const KEPT = /^(?:HOME|USER|LOGNAME|LANG|LANGUAGE|LC_[A-Z]+|TZ|XDG_CONFIG_HOME|XDG_DATA_HOME|XDG_CACHE_HOME)$/

/** Disables pagers, editors and prompts, because commands run without a terminal. */
const UNATTENDED = {
  TERM: 'dumb', PAGER: 'cat', GIT_PAGER: 'cat', EDITOR: 'false', VISUAL: 'false', GIT_EDITOR: 'false', GIT_TERMINAL_PROMPT: '0',
  GIT_SSH_COMMAND: 'ssh -o BatchMode=yes', DEBIAN_FRONTEND: 'noninteractive',
}

/** The environment for tools that run commands as the user of this process. */
export function operatorEnvironment(env: Variables): OperatorEnvironment {
  const kept = Object.entries(env).filter((entry): entry is [string, string] => KEPT.test(entry[0]) && entry[1] !== undefined)
  const folders = (env.PATH ?? '').split(':').filter((folder) => isAbsolute(folder))
  return { path: folders.length > 0 ? [...new Set(folders)] : ['/usr/local/bin', '/usr/bin', '/bin'], env: { ...Object.fromEntries(kept), ...UNATTENDED } }
}
