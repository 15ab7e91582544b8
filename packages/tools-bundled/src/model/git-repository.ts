import { type FileReader, type PipeResult, type Shell, type ShellStage, ToolError } from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import { failed, noRepository } from './git-errors.ts'
import { readIndex } from './git-index.ts'
import { CONFIG_LIST, readConfigList, refusedSetting, safeOptions } from './git-settings.ts'

export interface GitRuntime {
  readonly fs: FileReader
  readonly shell: Shell
}

/** A repository whose files are all inside the workspace, and options with which no setting of it runs a program. */
export interface Repository {
  /** The root of the working tree, absolute. Empty for a bare repository. */
  readonly top: string
  readonly options: readonly string[]
  /** The names of all settings that apply to it. */
  readonly names: readonly string[]
  /** Paths of submodules. Git runs in them with settings of their own. */
  readonly submodules: readonly string[]
}

/** Settings for which no safe value exists: hooks from settings, and objects that git would fetch. */
const REFUSED = /^(?:hook\.|remote\..*\.promisor$|extensions\.partialclone$)/i
/** The owner of the folder does not matter: no setting of the repository has an effect. */
const OWN_SETTINGS = [
  'safe.directory=*', 'core.attributesFile=/dev/null', 'core.excludesFile=/dev/null', 'core.editor=false',
  'core.protectHFS=true', 'core.protectNTFS=true', 'core.quotePath=false', 'commit.gpgSign=false', 'gc.auto=0',
  'maintenance.auto=false', 'log.mailmap=false', 'diff.noprefix=false', 'diff.mnemonicPrefix=false',
  'diff.orderFile=/dev/null', 'color.ui=false', 'i18n.logOutputEncoding=UTF-8', 'i18n.commitEncoding=UTF-8',
  'advice.detachedHead=false',
].flatMap((setting) => ['-c', setting])
const WHERE = ['rev-parse', '--path-format=absolute', '--show-object-format', '--git-dir', '--git-common-dir']
const READ_MS = 20_000
const NOT_A_FOLDER = 'Pass the folder of a repository as `path`, or create one with "git init".'
const NOT_A_SOURCE = 'Pass the URL of a repository.'

interface Opening {
  /** The folder is the repository itself. */
  readonly bare?: boolean
  /** Where a wall stands around git, what it could follow is not checked: it reaches nothing. */
  readonly reliesOnWall?: boolean
}

/**
 * Finds the repository of a folder and checks it. Rejects with NotFound if there is none inside the workspace, and with
 * InputInvalid if git would follow it to other folders. `as`: the command that the caller asked for.
 */
export async function openRepository(
  runtime: GitRuntime, folder: string, as: NonNullable<ShellStage['as']>,
  { bare = false, reliesOnWall = false }: Opening = {},
): Promise<Repository> {
  // Git takes a bare repository only if it is named.
  const own = [...safeOptions([]), ...OWN_SETTINGS, ...(bare ? ['--git-dir=.'] : [])]
  const read = (args: readonly string[]): Promise<PipeResult> => runtime.shell.pipe(
    [{ cmd: 'git', args: [...own, ...args], as }],
    { cwd: folder, wall: 'look', isolated: true, quiet: true, timeoutMs: READ_MS },
  )
  const [where, config] = await Promise.all([
    read(bare ? WHERE : [...WHERE, '--show-toplevel']), read(CONFIG_LIST),
  ])
  if (where.exits[0]?.exitCode !== 0) throw noRepository(folder, where.stderr, bare ? NOT_A_SOURCE : NOT_A_FOLDER)
  if (config.exits[0]?.exitCode !== 0 || config.truncated) throw failed('read the settings of the repository', config)
  const [format, gitDir, common, top = ''] = where.stdout.split('\n')
  const { names, files } = readConfigList(config.stdout)
  const refused = names.find((name) => REFUSED.test(name))
  if (refused !== undefined) throw refusedSetting(refused)
  const options = [...safeOptions(names), ...OWN_SETTINGS]
  if (!reliesOnWall || where.wall === undefined) {
    await requireInside(runtime.fs, [gitDir!, common!, ...(bare ? [] : [top])], folder)
    await requireOwnSettings(runtime.fs, files, bare ? folder : top)
    await requireOwnFiles(runtime.fs, gitDir!, common!)
  }
  const submodules = await requireSafeIndex(runtime.fs, gitDir!, format)
  return { top, options, names, submodules }
}

/** Where commands run without a wall, the files of a repository could be anywhere. */
async function requireInside(fs: FileReader, places: readonly string[], folder: string): Promise<void> {
  for (const place of places) {
    await fs.stat(place).catch((error: unknown) => {
      if (errorCode(error) !== 'CapabilityDenied') throw error
      throw new ToolError(
        'NotFound', `The repository of "${folder}" is not inside the workspace. Open the workspace at its root.`,
      )
    })
  }
}

/** Rejects settings from files outside: git would print them. Relative files begin at `base`. */
async function requireOwnSettings(fs: FileReader, files: readonly string[], base: string): Promise<void> {
  for (const file of files) {
    await fs.stat(file.startsWith('/') ? file : `${base}/${file}`).catch((error: unknown) => {
      if (errorCode(error) !== 'CapabilityDenied') throw error
      throw new ToolError(
        'InputInvalid', `The settings of the repository include "${file}", which is outside the workspace. Remove the `
          + 'setting "include.path" that names it.',
      )
    })
  }
}

/** Rejects links, through which git would read and write other folders, and objects of another repository. */
async function requireOwnFiles(fs: FileReader, gitDir: string, common: string): Promise<void> {
  await Promise.all(Array.from(new Set([gitDir, common]), (folder) => requireNoLinks(fs, folder)))
  const alternates = `${common}/objects/info/alternates`
  if (await exists(fs, alternates)) {
    throw new ToolError(
      'InputInvalid', `"${alternates}" names another repository. Copy its objects with "git repack -a -d", then remove `
        + 'the file.',
    )
  }
}

/** Folders of single objects, of which there are many, and of submodules, which git does not enter. */
const SKIPPED = /^\/(?:objects\/[0-9a-f]{2}|modules)$/
const MOST_FOLDERS = 10_000

async function requireNoLinks(fs: FileReader, root: string): Promise<void> {
  let found = 0
  for (let level: readonly string[] = ['']; level.length > 0;) {
    found += level.length
    if (found > MOST_FOLDERS) {
      throw new ToolError('InputInvalid', `"${root}" has more than ${MOST_FOLDERS} folders, so git was not run.`)
    }
    const lists = await Promise.all(level.map((folder) => linklessEntries(fs, root, folder)))
    level = lists.flat().filter((folder) => !SKIPPED.test(folder))
  }
}

/** The folders in a folder, relative to the root of the repository. */
async function linklessEntries(fs: FileReader, root: string, folder: string): Promise<readonly string[]> {
  const entries = await fs.list(`${root}${folder}`).catch(unlessMissing)
  const link = entries.find(({ name, kind }) => kind === 'other' && name !== FSMONITOR_SOCKET)
  if (link !== undefined) {
    throw new ToolError(
      'InputInvalid', `"${root}${folder}/${link.name}" is a link, which git could follow to other folders. Replace it `
        + 'by a copy.',
    )
  }
  return entries.filter(({ kind }) => kind === 'directory').map(({ name }) => `${folder}/${name}`)
}

function unlessMissing(error: unknown): readonly [] {
  if (errorCode(error) === 'NotFound') return []
  throw error
}

const FSMONITOR_SOCKET = 'fsmonitor--daemon.ipc'

const exists = (fs: FileReader, path: string): Promise<boolean> => fs.stat(path).then(() => true, (error: unknown) => {
  if (errorCode(error) === 'NotFound') return false
  throw error
})

const RANGE_BYTES = 8 * 1024 * 1024
const INDEX_BYTES = 128 * 1024 * 1024
const HASH_BYTES: Readonly<Record<string, number>> = { sha1: 20, sha256: 32 }

/** Returns the submodules. Rejects with InputInvalid if a path in the index leads out of the working tree. */
async function requireSafeIndex(
  fs: FileReader, gitDir: string, objectFormat = 'sha1',
): Promise<readonly string[]> {
  const path = `${gitDir}/index`
  if (!await exists(fs, path)) return []
  const { size } = await fs.stat(path)
  const parts: Uint8Array[] = []
  for (let start = 0; start < Math.min(size, INDEX_BYTES); start += RANGE_BYTES) {
    parts.push(await fs.read(path, { start, end: Math.min(size, start + RANGE_BYTES) }))
  }
  const { unsafe, submodules } = size > INDEX_BYTES
    ? { unsafe: 'too many entries', submodules: [] }
    : readIndex(Buffer.concat(parts), HASH_BYTES[objectFormat] ?? 20)
  if (unsafe === undefined) return submodules
  const cure = 'Write it anew: remove the file, then run "git reset".'
  throw new ToolError('InputInvalid', `The index of the repository has ${unsafe}. git was not run. ${cure}`)
}
