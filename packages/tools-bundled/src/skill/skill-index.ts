import type { FileReader, Log } from '@bulkhead/contract'
import { HEAD_BYTES, readHead, type SkillHead } from './skill-file.ts'

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
