import { ToolError } from '@bulkhead/contract'

/** Settings that stop `git` from running other programs, as `-c` takes them. */
const SAFE_SETTINGS: readonly string[] = [
  'core.fsmonitor=false', 'core.pager=cat', 'core.hooksPath=/dev/null', 'safe.bareRepository=explicit',
  'diff.submodule=short', 'log.showSignature=false', 'gpg.program=false', 'gpg.openpgp.program=false',
  'gpg.ssh.program=false', 'gpg.x509.program=false', 'credential.helper=', 'core.sshCommand=false',
  'core.askPass=false', 'core.alternateRefsCommand=',
  // A submodule has settings of its own, which these do not override. So git must not run in one.
  'submodule.recurse=false', 'status.submoduleSummary=false', 'diff.ignoreSubmodules=dirty',
  'fetch.recurseSubmodules=false', 'push.recurseSubmodules=no',
  // Do not fetch missing objects: the repository configures which program fetches them.
  'protocol.allow=never',
  // It could name any file, and names from it are printed.
  'mailmap.file=/dev/null',
]
/** Filter settings, which must be disabled one by one. */
const FILTER = /^filter\.([^]*)\.(?:clean|smudge|process|required)$/i
/** Protocol settings, which override `protocol.allow`. */
const PROTOCOL = /^protocol\.([^]+)\.allow$/i

/** Arguments that list all settings of a repository: NUL-terminated scopes, files and names, in turn. */
export const CONFIG_LIST: readonly string[] =
  ['config', '--list', '--name-only', '-z', '--includes', '--show-scope', '--show-origin']

interface ConfigList {
  readonly names: readonly string[]
  /** The files with settings of the repository, also those that it includes. */
  readonly files: readonly string[]
}

const FILE = 'file:'

/** Reads what `CONFIG_LIST` prints. */
export function readConfigList(output: string): ConfigList {
  const fields = output.split('\0')
  const names: string[] = []
  const files = new Set<string>()
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const [scope = '', origin = '', name = ''] = fields.slice(at, at + 3)
    names.push(name)
    const isOwn = scope === 'local' || scope === 'worktree'
    if (isOwn && origin.startsWith(FILE)) files.add(origin.slice(FILE.length))
  }
  return { names, files: [...files] }
}

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

export function refusedSetting(name: string): ToolError {
  const why = `The repository has the setting "${name}". With it, git could read other folders or run a program.`
  return new ToolError('InputInvalid', `${why} Remove the setting, or use the tool \`read\`.`)
}

/** `-c` cannot set a name that contains `=`. */
const cannotBeOverridden = (name: string): boolean => name.includes('=') && (FILTER.test(name) || PROTOCOL.test(name))
