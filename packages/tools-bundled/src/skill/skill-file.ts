import type { FileReader, Log } from '@bulkhead/contract'
import { isJsonObject } from '@bulkhead/kit/json'

/** What the head of a SKILL.md says of it. */
export interface SkillHead {
  readonly name: string
  readonly description: string
}

/** The head lies in here; what is longer is no skill. */
export const HEAD_BYTES = 16 * 1024

const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const HEAD = /^\ufeff?---[ \t]*\r?\n([^]*?)\r?\n---[ \t]*(?:\r?\n|$)/

/** The head, or in a few words what is wrong with it. */
export async function readHead(text: string, folder: string): Promise<SkillHead | string> {
  const written = HEAD.exec(text)?.[1]
  if (written === undefined) return 'it does not begin with a head between two lines of ---'
  const head = await parseHead(written)
  if (!isJsonObject(head)) return 'its head is not YAML with names and values'
  const { name, description } = head
  if (typeof name !== 'string' || name.length > 64 || !NAME.test(name)) return 'its name is not of 1 to 64 letters a-z, digits and single hyphens'
  if (name !== folder) return `its name is not that of its folder, ${folder}`
  if (typeof description !== 'string' || description === '' || description.length > 1024) return 'its description is not of 1 to 1024 characters'
  return { name, description }
}

async function parseHead(text: string): Promise<unknown> {
  // Loaded when there is a skill: the host starts without it.
  const { parse } = await import('yaml')
  try {
    return parse(text, { maxAliasCount: 0, schema: 'core' })
  } catch {
    return undefined
  }
}

/** What follows the head. */
export const bodyOf = (text: string): string => text.replace(HEAD, '')

export interface IndexedSkill extends SkillHead {
  readonly path: string
}

const MAX_SKILLS = 500

/** Every skill below these folders: the first of a name wins, and only heads are read. What is wrong is logged, never thrown. */
export async function indexSkills(folders: readonly string[], fs: FileReader, log: Log): Promise<readonly IndexedSkill[]> {
  const skills = new Map<string, IndexedSkill>()
  for (const folder of folders) {
    // A folder that is not there, or may not be read, has no skills.
    const entries = await fs.list(folder).catch(() => [])
    for (const { name, kind } of entries) {
      if (kind !== 'directory' || skills.size >= MAX_SKILLS) continue
      const path = `${folder}/${name}/SKILL.md`
      const text = await fs.readText(path, { start: 0, end: HEAD_BYTES }).catch(() => undefined)
      if (text === undefined) continue
      const head = await readHead(text, name)
      if (typeof head === 'string') log.warn(`The skill ${path} is left out: ${head}.`)
      else if (skills.has(head.name)) log.warn(`The skill ${path} is left out: ${skills.get(head.name)!.path} comes first.`)
      else skills.set(head.name, { ...head, path })
    }
  }
  return [...skills.values()]
}
