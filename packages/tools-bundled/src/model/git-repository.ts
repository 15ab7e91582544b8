import { type FileReader, type PipeResult, type Shell, type ShellStage, ToolError } from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import { failed, noRepository } from './git-errors.ts'
import { readIndex } from './git-index.ts'
import { CONFIG_NAMES, refusedSetting, safeOptions } from './git-settings.ts'

export interface GitRuntime {
  readonly fs: FileReader
  readonly shell: Shell
}

/** A repository whose files are all inside the workspace, and options with which no setting of it has an effect. */
export interface Repository {
  /** The root of the working tree, absolute. Empty for a bare repository. */
  readonly top: string
  readonly options: readonly string[]
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

/**
 * Finds the repository of a folder and checks it. Rejects with NotFound if there is none inside the workspace, and with
 * InputInvalid if git would follow it to other folders. `as`: the command that the caller asked for. `bare`: the folder
 * is the repository itself.
 */
export async function openRepository(
  runtime: GitRuntime, folder: string, as: NonNullable<ShellStage['as']>, bare = false,
): Promise<Repository> {
  // Git takes a bare repository only if it is named.
  const own = [...safeOptions([]), ...OWN_SETTINGS, ...(bare ? ['--git-dir=.'] : [])]
  const read = (args: readonly string[]): Promise<PipeResult> => runtime.shell.pipe(
    [{ cmd: 'git', args: [...own, ...args], as }],
    { cwd: folder, wall: 'read', isolated: true, quiet: true, timeoutMs: READ_MS },
  )
  const [where, config] = await Promise.all([
    read(bare ? WHERE : [...WHERE, '--show-toplevel']), read(CONFIG_NAMES.slice(1)),
  ])
  if (where.exits[0]?.exitCode !== 0) throw noRepository(folder, where.stderr, bare ? NOT_A_SOURCE : NOT_A_FOLDER)
  if (config.exits[0]?.exitCode !== 0 || config.truncated) throw failed('read the settings of the repository', config)
  const [format, gitDir, common, top = ''] = where.stdout.split('\n')
  const names = config.stdout.split('\0').filter((name) => name !== '')
  const refused = names.find((name) => REFUSED.test(name))
  if (refused !== undefined) throw refusedSetting(refused)
  const options = [...safeOptions(names), ...OWN_SETTINGS]
  await requireInside(runtime.fs, [gitDir!, common!, ...(bare ? [] : [top])], folder)
  await requireOwnFiles(runtime.fs, gitDir!, common!)
  const submodules = await requireSafeIndex(runtime.fs, gitDir!, format)
  return { top, options, submodules }
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

/** Rejects links, through which git would read and write other folders, and objects of another repository. */
async function requireOwnFiles(fs: FileReader, gitDir: string, common: string): Promise<void> {
  const parts = ['objects', 'objects/pack', 'refs'].map((name) => `${common}/${name}`)
  for (const folder of new Set([gitDir, common, ...parts])) {
    const entries = await fs.list(folder).catch(unlessMissing)
    const link = entries.find(({ name, kind }) => kind === 'other' && name !== FSMONITOR_SOCKET)
    if (link !== undefined) {
      throw new ToolError(
        'InputInvalid', `"${folder}/${link.name}" is a link, which git could follow to other folders. Replace it by a `
          + 'copy.',
      )
    }
  }
  const alternates = `${common}/objects/info/alternates`
  if (await exists(fs, alternates)) {
    throw new ToolError(
      'InputInvalid', `"${alternates}" names another repository. Copy its objects with "git repack -a -d", then remove `
        + 'the file.',
    )
  }
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
export async function requireSafeIndex(
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
