import { isAbsolute, join, resolve } from 'node:path'
import {
  isProxyVariable, isUsualVariable, keyGrant, namedTwice, type CommandVariable, type ConfigFile,
} from '@bulkhead/contract'
import type { OperatorEnvironment } from '@bulkhead/sandbox'

export type Variables = Readonly<Record<string, string | undefined>>

/** Variables that programs need to find the settings of the user. No credentials. */
const KEPT = /^(?:HOME|USER|LOGNAME|LANG|LANGUAGE|LC_[A-Z]+|TZ|XDG_CONFIG_HOME|XDG_DATA_HOME|XDG_CACHE_HOME)$/

/** Disables pagers, editors and prompts, because commands run without a terminal. */
const UNATTENDED = {
  TERM: 'dumb', PAGER: 'cat', GIT_PAGER: 'cat', EDITOR: 'false', VISUAL: 'false', GIT_EDITOR: 'false',
  GIT_TERMINAL_PROMPT: '0',
  GIT_SSH_COMMAND: 'ssh -o BatchMode=yes', DEBIAN_FRONTEND: 'noninteractive',
}

/** The environment of local servers, and of commands that run as the user of this process. */
export function operatorEnvironment(env: Variables): OperatorEnvironment {
  const folders = (env.PATH ?? '').split(':').filter((folder) => isAbsolute(folder))
  const path = folders.length > 0 ? [...new Set(folders)] : ['/usr/local/bin', '/usr/bin', '/bin']
  return { path, env: { ...taken(env, (name) => KEPT.test(name)), ...UNATTENDED } }
}

const taken = (env: Variables, isTaken: (name: string) => boolean): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(env)
    .filter((entry): entry is [string, string] => isTaken(entry[0]) && entry[1] !== undefined))

/** What programs need of an environment, without anything that may be a credential: for hosts of tenants. */
export const withoutSecrets = (env: Variables): Readonly<Record<string, string>> =>
  taken(env, (name) => (name === 'PATH' || KEPT.test(name) || isUsualVariable(name)) && !hasPassword(name, env[name] ?? ''))

/** The environment of commands, with what the configuration adds. */
export function commandEnvironment(
  env: Variables, commands: NonNullable<ConfigFile['commands']> = {},
): OperatorEnvironment {
  const { read = [], env: { pass = [], set = {} } = {}, keys = {} } = commands
  const base = operatorEnvironment(env)
  const named = new Set(pass)
  const twice = namedTwice(commands)
  const passed = taken(env, (name) => isUsualVariable(name) || named.has(name))
  // The value of a key stays out, also if another layer passes it.
  const all = { ...taken({ ...base.env, ...passed }, (name) => !Object.hasOwn(keys, name)), ...set }
  const { HOME: home } = base.env
  return {
    path: base.path,
    env: taken(all, (name) => !hasPassword(name, all[name]!)),
    guarded: taken(all, (name) => hasPassword(name, all[name]!)),
    read: read.flatMap((path) => {
      if (!path.startsWith('~')) return [resolve(path)]
      return home === undefined ? [] : [join(home, path.slice(1))]
    }),
    keys: Object.entries(keys).flatMap(([name, key]) => {
      const { [name]: value = '' } = env
      return value === '' || twice.includes(name) ? [] : [keyGrant(name, value, key)]
    }),
  }
}

/** A URL with a user name or password. The address of a proxy may lack its scheme. */
const hasPassword = (name: string, value: string): boolean =>
  /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#]*@/i.test(value) || (isProxyVariable(name) && value.includes('@'))

/** Names of variables that usually hold credentials. */
const SECRET_NAME = /(?:TOKEN|SECRET|PASS(?:WORD|WD)?|KEY|CREDENTIALS?|AUTH)(?:_|$)/i

/** For people: what commands get. Only values that the configuration sets are shown, and no secrets. */
export function shownVariables(
  { env, guarded = {}, keys = [] }: OperatorEnvironment,
  { env: { set = {} } = {} }: NonNullable<ConfigFile['commands']> = {},
): readonly CommandVariable[] {
  const shown = Object.keys({ PATH: '', ...env, ...guarded }).map((name): CommandVariable => {
    const isGuarded = Object.hasOwn(guarded, name)
    const isShown = Object.hasOwn(set, name) && !isGuarded && !SECRET_NAME.test(name)
    return { name, ...(isShown && { value: set[name]! }), ...(isGuarded && { guarded: true }) }
  })
  const ofKeys = keys.map(({ name, host }): CommandVariable => ({ name, key: { host } }))
  return [...shown, ...ofKeys].toSorted((one, other) => one.name < other.name ? -1 : 1)
}
