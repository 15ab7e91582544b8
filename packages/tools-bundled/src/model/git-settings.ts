import { ToolError } from '@bulkhead/contract'

/** Settings that stop `git` from running other programs, as `-c` takes them. */
const SAFE_SETTINGS: readonly string[] = [
  'core.fsmonitor=false', 'core.pager=cat', 'core.hooksPath=/dev/null', 'safe.bareRepository=explicit',
  'diff.submodule=short', 'log.showSignature=false', 'gpg.program=false', 'gpg.openpgp.program=false',
  'gpg.ssh.program=false', 'gpg.x509.program=false', 'credential.helper=', 'core.sshCommand=false',
  'core.askPass=false', 'core.alternateRefsCommand=', 'submodule.recurse=false',
  // Do not fetch missing objects: the repository configures which program fetches them.
  'protocol.allow=never',
]
/** Filter settings, which must be disabled one by one. */
const FILTER = /^filter\.([^]*)\.(?:clean|smudge|process|required)$/i
/** Protocol settings, which override `protocol.allow`. */
const PROTOCOL = /^protocol\.([^]+)\.allow$/i

/** Arguments that list the names of all settings of a repository, NUL-terminated. */
export const CONFIG_NAMES: readonly string[] = ['--no-pager', 'config', '--list', '--name-only', '-z', '--includes']

/**
 * Options of `git` that disable every setting by which a repository could make it run another program. `names` are the
 * settings of the repository. Throws InputInvalid if a setting cannot be disabled.
 */
export function safeOptions(names: readonly string[]): readonly string[] {
  const unsafe = names.find(cannotBeOverridden)
  if (unsafe !== undefined) throw refusedSetting(unsafe)
  const found = (form: RegExp): readonly string[] => [...new Set(names.flatMap((name) => form.exec(name)?.[1] ?? []))]
  const settings = [
    ...SAFE_SETTINGS,
    ...found(FILTER).flatMap((name) =>
      ['clean=', 'smudge=', 'process=', 'required=false'].map((setting) => `filter.${name}.${setting}`)),
    ...found(PROTOCOL).map((name) => `protocol.${name}.allow=never`),
  ]
  return ['--no-pager', '--no-optional-locks', ...settings.flatMap((entry) => ['-c', entry])]
}

/** Whether the working tree may be in another folder. Submodules have this setting too. */
export const hasOtherWorktree = (names: readonly string[]): boolean =>
  names.some((name) => name.toLowerCase() === WORKTREE_SETTING)
const WORKTREE_SETTING = 'core.worktree'

export function refusedSetting(name = WORKTREE_SETTING): ToolError {
  const why = `The repository has the setting "${name}". With it, git could read other folders or run a program.`
  return new ToolError('InputInvalid', `${why} Remove the setting, or use the tool \`read\`.`)
}

/** `-c` cannot set a name that contains `=`. */
const cannotBeOverridden = (name: string): boolean => name.includes('=') && (FILTER.test(name) || PROTOCOL.test(name))
