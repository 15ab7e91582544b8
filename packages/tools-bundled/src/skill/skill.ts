import { defineExtension, ToolError, type FileReader, type Log, type ManifestInput } from '@bulkhead/contract'
import { isJsonObject } from '@bulkhead/kit/json'
import { BUNDLED, type BundledExtension } from '../model/bundled-extension.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: { name: { type: 'string', minLength: 1, maxLength: 64, description: 'The name of the skill.' } },
  required: ['name'],
  additionalProperties: false,
} as const

/** Maximum length of the list of skills in an error message. */
const LIST_CHARS = 4_000
/** The folders of a project, in order of precedence. */
const PROJECT_FOLDERS = ['.agents/skills', '.claude/skills', '.bulkhead/skills']

export interface SkillOptions {
  /** The absolute path of {user-data}/skills. */
  readonly userFolder?: string | undefined
  /** Additional folders of the workspace. */
  readonly paths?: readonly string[] | undefined
}

/** What a session keeps: the skills found on its first call, and the bodies it has read. */
interface SessionState {
  readonly skills: readonly IndexedSkill[]
  readonly bodies: Readonly<Record<string, string>>
}

export function createSkill({ userFolder, paths = [] }: SkillOptions = {}): BundledExtension {
  const folders = [...PROJECT_FOLDERS, ...(userFolder === undefined ? [] : [userFolder]), ...paths]
  const requires = {
    fs: { read: [...[...PROJECT_FOLDERS, ...paths].map((path) => `{workspace}/${path}`), '{user-data}/skills'] },
    capabilities: ['session' as const],
  }
  return {
    manifest: {
      ...BUNDLED,
      id: 'skill',
      tools: [{
        name: 'skill',
        label: 'Load a skill',
        description: 'Loads the instructions of a skill. If the name is unknown, the error lists the available skills.',
        inputSchema: INPUT_SCHEMA,
        requires,
        gated: false,
        mode: 'read',
        kind: 'think',
        idempotent: true,
        maxOutput: '256KB',
      }],
    } satisfies ManifestInput,
    module: defineExtension({
      tools: {
        skill: {
          input: INPUT_SCHEMA,
          requires,
          async execute({ name }, { fs, session, log }) {
            const known = await session.read() as SessionState | null
            const { skills, bodies } = known ?? { skills: await indexSkills(folders, fs, log), bodies: {} }
            const skill = skills.find((one) => one.name === name)
            if (skill === undefined) throw notFound(name, skills)
            const body = Object.hasOwn(bodies, name) ? bodies[name]! : await readBody(skill, fs)
            // A body that is too large to keep is read again on each call.
            await session.write({ skills, bodies: { ...bodies, [name]: body } } as never).catch(async () => {
              if (known === null) await session.write({ skills, bodies: {} } as never)
            })
            return { content: `<skill_content name="${name}">\n${body.trim()}\n</skill_content>` }
          },
          deriveApprovalKey: ({ name }) => name,
        },
      },
    }),
  }
}

async function readBody({ name, path }: IndexedSkill, fs: FileReader): Promise<string> {
  try {
    // Read all of it. The host decides how much the model sees.
    return bodyOf(await fs.readText(path))
  } catch (cause) {
    throw new ToolError('ToolExecutionFailed', `Cannot read the skill "${name}": ${(cause as Error).message}`)
  }
}

function notFound(name: string, skills: readonly IndexedSkill[]): ToolError {
  const list = skills.map((skill) => `\n- ${skill.name}: ${skill.description.replaceAll(/\s+/g, ' ')}`)
  let text = skills.length === 0 ? ' No skills are available.' : ' Available skills:'
  for (const line of list) if (text.length + line.length < LIST_CHARS) text += line
  const data = { skills: skills.map((skill) => ({ name: skill.name, description: skill.description })) }
  return new ToolError('NotFound', `There is no skill "${name}".${text}`, data)
}

/** The front matter of a SKILL.md. */
interface SkillHead {
  readonly name: string
  readonly description: string
}

/** Maximum length of the front matter. */
const HEAD_BYTES = 16 * 1024

const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const HEAD = /^\ufeff?---[ \t]*\r?\n([^]*?)\r?\n---[ \t]*(?:\r?\n|$)/

/** Returns the front matter, or a description of the fault. */
export async function readHead(text: string, folder: string): Promise<SkillHead | string> {
  const written = HEAD.exec(text)?.[1]
  if (written === undefined) return 'it does not begin with front matter between two lines of ---'
  const head = await parseHead(written)
  if (!isJsonObject(head)) return 'its front matter is not a YAML mapping'
  const { name, description } = head
  if (typeof name !== 'string' || name.length > 64 || !NAME.test(name)) {
    return 'its name must be 1 to 64 characters: a-z, digits and single hyphens'
  }
  if (name !== folder) return `its name must be that of its folder, ${folder}`
  if (typeof description !== 'string' || description === '' || description.length > 1024) {
    return 'its description must have 1 to 1024 characters'
  }
  return { name, description }
}

async function parseHead(text: string): Promise<unknown> {
  // Loaded on first use, to keep the host's startup fast.
  const { load } = await import('js-yaml')
  try {
    return load(text, { maxAliases: 0 })
  } catch {
    return undefined
  }
}

/** The content after the front matter. */
const bodyOf = (text: string): string => text.replace(HEAD, '')

interface IndexedSkill extends SkillHead {
  readonly path: string
}

const MAX_SKILLS = 500

/** Finds all skills in these folders. The first skill of a name wins. Invalid skills are logged. */
async function indexSkills(folders: readonly string[], fs: FileReader, log: Log): Promise<readonly IndexedSkill[]> {
  const skills = new Map<string, IndexedSkill>()
  for (const folder of folders) {
    // A folder that is missing or not readable has no skills.
    const entries = await fs.list(folder).catch(() => [])
    for (const { name, kind } of entries) {
      if (kind !== 'directory' || skills.size >= MAX_SKILLS) continue
      const path = `${folder}/${name}/SKILL.md`
      const text = await fs.readText(path, { start: 0, end: HEAD_BYTES }).catch(() => undefined)
      if (text === undefined) continue
      const head = await readHead(text, name)
      if (typeof head === 'string') log.warn(`The skill ${path} is left out: ${head}.`)
      else if (skills.has(head.name)) {
        log.warn(`The skill ${path} is left out: ${skills.get(head.name)!.path} has the same name.`)
      }
      else skills.set(head.name, { ...head, path })
    }
  }
  return [...skills.values()]
}
