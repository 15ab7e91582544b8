import { isUtf8 } from 'node:buffer'
import { lstatSync } from 'node:fs'
import { join, posix } from 'node:path'
import { CONFIG_FILE, type ConfigFile, type Diagnostic, type ErrorCode, type SkillDescriptor } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { isAbsent } from '@bulkhead/kit/folders'
import { visibleText } from '@bulkhead/kit/text'
import { readConfigFile, validateConfig } from '../config/config-file.ts'
import type { Settings } from '../config/settings.ts'
import { listFolder, readPackage } from '../files/read-package.ts'
import { packageDigest } from '../model/digest.ts'
import { diagnose, type Fault } from '../model/result.ts'
import type { Yielder } from '../model/yielder.ts'

type SkillLayer = SkillDescriptor['layer']

/** The skills of one layer, in order of precedence. */
export interface LayerSkills {
  readonly skills: readonly SkillDescriptor[]
  /** Why a folder or a skill is left out. */
  readonly diagnostics: readonly Diagnostic[]
  /** The digest of each skill, by its name as part of a project; null for one that cannot be read. */
  readonly digests: ReadonlyMap<string, string | null>
}

const SKILL_FILE = 'SKILL.md'
/** In the root of a layer. */
const SKILL_FOLDER = 'skills'
/** Of other agents, in a workspace. They come before those of the layer. */
const SHARED_FOLDERS = ['.agents/skills', '.claude/skills']
/** The most skills of one layer. */
const MAX_SKILLS = 500
/** The front matter is at the beginning. */
const HEAD_BYTES = 16 * 1024

/** Folders with skills in a workspace, relative to it, that do not depend on the configuration of the project. */
export const outerSkillFolders = (settings: Settings): readonly string[] =>
  [...SHARED_FOLDERS, ...usablePaths(outerPaths(settings).flatMap(({ paths }) => paths))]

/** What the configurations of others than the project name. */
function outerPaths({ globalRoot, limits, defaults, skills }: Settings): readonly ConfiguredPaths[] {
  const location = join(globalRoot ?? '', CONFIG_FILE)
  const user = globalRoot === null
    ? {} : readConfigFile(location, { maxBytes: limits.manifestBytes, followLinks: true }).value
  return [
    { location: 'bundled', paths: defaults.skills?.paths ?? [] },
    { location, paths: validateConfig(user).config.skills?.paths ?? [] },
    { location: 'overrides', paths: skills?.paths ?? [] },
  ]
}

interface ConfiguredPaths {
  /** The file that names them. */
  readonly location: string
  readonly paths: readonly string[]
}

/** Each is normalised, so that one folder is read once. */
const usablePaths = (paths: readonly string[]): readonly string[] =>
  paths.filter(isInside).map((path) => posix.normalize(path).replace(/\/$/, ''))

const isInside = (path: string): boolean =>
  path !== '' && !/[\0\\]/.test(path) && !posix.isAbsolute(path) && !/^\.\.(?:\/|$)/.test(posix.normalize(path))

/** Folders with skills in a workspace, relative to it, with those of a configuration, in order of precedence. */
export const skillFoldersOf = (
  { skills }: Pick<ConfigFile, 'skills'>, projectFolder: string,
): readonly string[] => [...SHARED_FOLDERS, `${projectFolder}/${SKILL_FOLDER}`, ...usablePaths(skills?.paths ?? [])]

/** `config` is that of the project. */
export const projectSkillFolders = (config: Pick<ConfigFile, 'skills'>, settings: Settings): readonly string[] =>
  [...new Set([...skillFoldersOf(config, settings.projectFolder), ...outerSkillFolders(settings)])]

/** Absolute paths, in order of precedence. */
export const userSkillFolders = ({ globalRoot, skills }: Settings): readonly string[] =>
  [...(globalRoot === null ? [] : [join(globalRoot, SKILL_FOLDER)]), ...skills?.userFolders ?? []]

/** Nothing for a loader that cannot read front matter. Contract: rejects never. */
export async function readUserSkills(settings: Settings, yielder: Yielder): Promise<LayerSkills> {
  const reading = new SkillReading('global', settings, yielder)
  outerPaths(settings).forEach((configured) => reading.refusePaths(configured))
  for (const folder of userSkillFolders(settings)) {
    await reading.readFolder(folder, findFolderProblem(folder, ''), folder)
  }
  return reading
}

/** `config` is that of the project. Contract: rejects never. */
export async function readProjectSkills(
  workspace: string, config: Pick<ConfigFile, 'skills'>, settings: Settings, yielder: Yielder,
): Promise<LayerSkills> {
  const reading = new SkillReading('project', settings, yielder)
  const location = join(workspace, settings.projectFolder, CONFIG_FILE)
  reading.refusePaths({ location, paths: config.skills?.paths ?? [] })
  for (const folder of projectSkillFolders(config, settings)) {
    await reading.readFolder(join(workspace, folder), findFolderProblem(workspace, folder), folder)
  }
  return reading
}

/** Why a folder below `base` cannot be used, `missing`, or undefined. A link on the way may lead anywhere. */
function findFolderProblem(base: string, below: string): string | undefined {
  let path = base
  try {
    for (const name of below === '' ? [''] : below.split('/')) {
      path = join(path, name)
      const stat = lstatSync(path, { throwIfNoEntry: false })
      if (stat === undefined) return 'missing'
      if (!stat.isDirectory()) return stat.isSymbolicLink() ? 'is a link, or is below one' : 'is not a folder'
    }
    return undefined
  } catch (error) {
    return `cannot be read: ${messageOf(error)}`
  }
}

class SkillReading implements LayerSkills {
  readonly skills: SkillDescriptor[] = []
  readonly diagnostics: Diagnostic[] = []
  readonly digests = new Map<string, string | null>()
  readonly #layer: SkillLayer
  readonly #settings: Settings
  readonly #yielder: Yielder
  #examined = 0

  constructor(layer: SkillLayer, settings: Settings, yielder: Yielder) {
    this.#layer = layer
    this.#settings = settings
    this.#yielder = yielder
  }

  /** `part`: its name as part of a project. */
  async readFolder(folder: string, problem: string | undefined, part: string): Promise<void> {
    const { skills: reader, limits } = this.#settings
    if (problem === 'missing' || reader === undefined) return
    const listing = problem === undefined ? listFolder(folder, limits.files) : { ok: false as const, message: problem }
    if (!listing.ok) {
      this.#leaveOut(partOf(part), folder, 'folder of skills', `it ${listing.message}`)
      return
    }
    const entries = listing.entries.filter(({ name, kind }) => kind !== 'file' && !name.startsWith('.'))
    const left = Math.max(0, MAX_SKILLS - this.#examined)
    this.#examined += entries.length
    for (const { name, kind } of entries.slice(0, left)) {
      const [location, own] = [join(folder, name), partOf(`${part}/${name}`)]
      const fault = kind === 'folder' ? await this.#readSkill(location, name, own) : 'it is a link or no folder'
      if (fault !== undefined) this.#leaveOut(own, location, 'skill', fault)
    }
    if (entries.length <= left) return
    const rest = `${entries.length - left} skills in it, because a layer has ${MAX_SKILLS} at most`
    this.#report(folder, 'PackageUnsafe', `The folder of skills ${visibleText(folder)} is read without ${rest}.`)
  }

  /** A part without a digest: if it becomes usable, the digest of the project changes. */
  #leaveOut(part: string, location: string, what: string, fault: string): void {
    if (!this.digests.has(part)) this.digests.set(part, null)
    this.#report(location, 'PackageUnsafe', `The ${what} ${visibleText(location)} is left out: ${fault}.`)
  }

  /** Reports paths that leave the workspace. */
  refusePaths({ location, paths }: ConfiguredPaths): void {
    for (const [index, path] of paths.entries()) {
      if (isInside(path)) continue
      const message = `The folder of skills "${visibleText(path)}" is left out: it must be a path inside the workspace.`
      this.#report(location, 'ConfigInvalid', message, `/skills/paths/${index}`)
    }
  }

  /** Returns why it is left out. */
  async #readSkill(location: string, name: string, part: string): Promise<string | undefined> {
    // A folder of something else may be large.
    if (isAbsent(join(location, SKILL_FILE))) return `it has no file ${SKILL_FILE}`
    const read = await readPackage(location, this.#settings.limits, this.#yielder, (path) => path === SKILL_FILE)
    if (!read.ok) return faultWords(read.faults[0]!)
    const { digests: files, bytes } = read.value
    this.digests.set(part, packageDigest(files))
    const written = bytes.get(SKILL_FILE)
    if (written === undefined || !isUtf8(written)) return `its ${SKILL_FILE} is not a file of UTF-8 text`
    const text = Buffer.from(written.subarray(0, HEAD_BYTES)).toString()
    const head = await this.#settings.skills!.readHead(text, name)
    if (typeof head === 'string') return head
    this.skills.push(Object.freeze({ ...head, layer: this.#layer, location, files }))
    return undefined
  }

  #report(location: string, code: ErrorCode, message: string, path = ''): void {
    const subject = { layer: this.#layer, extensionId: null, location }
    this.diagnostics.push(diagnose(subject, { stage: 'read', code, path, message, location, cure: CURE }, 'warning'))
  }
}

const CURE = 'Correct it, or delete it.'

/** The same code reads packages. */
const faultWords = ({ message }: Fault): string => message.replace(/\.$/, '')
  .replace('The folder of the extension', 'it').replace(/^The file (.*) of the package/, 'the file $1 in it')

/** No other part of a project has such a name. */
const partOf = (path: string): string => `skill:${path}`

/** The first skill of each name. Those of the user come first, so that a project cannot replace one. */
export function chooseSkills(
  skills: readonly SkillDescriptor[],
): { readonly skills: readonly SkillDescriptor[]; readonly diagnostics: readonly Diagnostic[] } {
  const chosen = new Map<string, SkillDescriptor>()
  const diagnostics: Diagnostic[] = []
  for (const skill of skills) {
    const other = chosen.get(skill.name)
    if (other === undefined) chosen.set(skill.name, skill)
    // Some projects keep the same skills in two places.
    else if (packageDigest(other.files) !== packageDigest(skill.files)) {
      const { layer, location } = skill
      const first = visibleText(other.location)
      const message = `The skill ${visibleText(location)} is not used: ${first} has the same name.`
      const cure = 'Rename one of them and its folder.'
      diagnostics.push(diagnose({ layer, extensionId: null, location }, {
        stage: 'register', code: 'RegistrationConflict', path: '', message, location, cure,
      }, 'warning'))
    }
  }
  return { skills: [...chosen.values()], diagnostics }
}
