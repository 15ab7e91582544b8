import { lstatSync } from 'node:fs'
import { join, posix } from 'node:path'
import { CONFIG_FILE, type ConfigFile, type Diagnostic, type ErrorCode, type SkillDescriptor } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import { readConfigFile, validateConfig } from '../config/config-file.ts'
import type { Settings } from '../config/settings.ts'
import { listFolder, readPackage } from '../files/read-package.ts'
import { packageDigest } from '../model/digest.ts'
import { diagnose } from '../model/result.ts'
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
const HEAD_CHARS = 16 * 1024

/** Folders with skills in a workspace, relative to it, that do not depend on the configuration of the project. */
export function outerSkillFolders({ globalRoot, limits, defaults, skills }: Settings): readonly string[] {
  const file = { maxBytes: limits.manifestBytes, followLinks: true }
  const user = globalRoot === null ? {} : readConfigFile(join(globalRoot, CONFIG_FILE), file).value
  const configured = [defaults.skills, validateConfig(user).config.skills, skills].flatMap((one) => one?.paths ?? [])
  return [...SHARED_FOLDERS, ...usablePaths(configured)]
}

/** Each is normalised, so that one folder is read once. Paths that leave the workspace are reported by `readSkills`. */
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
  for (const folder of userSkillFolders(settings)) {
    await reading.readFolder(folder, findFolderProblem(folder, ''), folder)
  }
  return reading
}

/** `config` is that of the project. Contract: rejects never. */
export async function readProjectSkills(
  workspace: string, config: Pick<ConfigFile, 'skills'>, settings: Settings, yielder: Yielder,
): Promise<LayerSkills> {
  const { paths = [] } = config.skills ?? {}
  const reading = new SkillReading('project', settings, yielder)
  for (const [index, path] of paths.entries()) if (!isInside(path)) reading.refusePath(path, index, workspace)
  for (const folder of projectSkillFolders(config, settings)) {
    await reading.readFolder(join(workspace, folder), findFolderProblem(workspace, folder), folder)
  }
  return reading
}

/** Why a folder below `base` cannot be used, `missing`, or undefined. Links on the way count: they may lead anywhere. */
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
      this.digests.set(partOf(part), null)
      this.#report(folder, 'PackageUnsafe', `The folder of skills ${visibleText(folder)} is left out: it ${listing.message}.`)
      return
    }
    for (const { name, kind } of listing.entries) {
      if (kind === 'file' || name.startsWith('.')) continue
      const fault = this.skills.length >= MAX_SKILLS ? `there are more than ${MAX_SKILLS}`
        : kind === 'folder' ? await this.#readSkill(join(folder, name), name, partOf(`${part}/${name}`))
          : 'it is a link or no folder'
      if (fault === undefined) continue
      if (!this.digests.has(partOf(`${part}/${name}`))) this.digests.set(partOf(`${part}/${name}`), null)
      const what = `The skill ${visibleText(join(folder, name))} is left out: ${fault}.`
      this.#report(join(folder, name), 'PackageUnsafe', what)
    }
  }

  refusePath(path: string, index: number, workspace: string): void {
    const message = `The folder of skills "${visibleText(path)}" is left out: it must be a path inside the workspace.`
    this.#report(join(workspace, this.#settings.projectFolder, CONFIG_FILE), 'ConfigInvalid', message, `/skills/paths/${index}`)
  }

  /** Returns why it is left out. */
  async #readSkill(location: string, name: string, part: string): Promise<string | undefined> {
    const read = await readPackage(location, this.#settings.limits, this.#yielder, (path) => path === SKILL_FILE)
    if (!read.ok) return withoutStop(read.faults[0]!.message.replace('of the package', 'in it').replace('of the extension', 'of it'))
    const { digests: files, bytes } = read.value
    this.digests.set(part, packageDigest(files))
    const written = bytes.get(SKILL_FILE)
    if (written === undefined) return `it has no file ${SKILL_FILE}`
    let text: string
    try {
      text = new TextDecoder('utf-8', { fatal: true }).decode(written)
    } catch {
      return `its ${SKILL_FILE} is not UTF-8`
    }
    const head = await this.#settings.skills!.readHead(text.slice(0, HEAD_CHARS), name)
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
const withoutStop = (message: string): string => message.replace(/\.$/, '')

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
      const message = `The skill ${visibleText(location)} is not used: ${visibleText(other.location)} has the same name.`
      const cure = 'Rename one of them and its folder.'
      diagnostics.push(diagnose({ layer, extensionId: null, location }, {
        stage: 'register', code: 'RegistrationConflict', path: '', message, location, cure,
      }, 'warning'))
    }
  }
  return { skills: [...chosen.values()], diagnostics }
}
