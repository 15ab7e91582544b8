import { defineExtension, ToolError, type FileReader, type ManifestInput } from '@bulkhead/contract'
import { BUNDLED, type BundledExtension } from '../model/bundled-extension.ts'
import { bodyOf, type IndexedSkill, indexSkills } from './skill-file.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: { name: { type: 'string', minLength: 1, maxLength: 64, description: 'The name of the skill.' } },
  required: ['name'],
  additionalProperties: false,
} as const

/** Of the list in a refusal. */
const LIST_CHARS = 4_000
/** Where a project keeps skills, first to last. */
const PROJECT_FOLDERS = ['.agents/skills', '.claude/skills', '.bulkhead/skills']

export interface SkillOptions {
  /** The absolute path of the user's folder of skills, which is {user-data}/skills. */
  readonly userFolder?: string | undefined
  /** Further folders of the workspace. */
  readonly paths?: readonly string[] | undefined
}

/** What a session remembers: which skills there were when it first asked, and what it has read of them. */
interface Remembered {
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
        description: 'Loads what a skill says: how to do something of a kind, written down for agents. An unknown name is answered with the names there are.',
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
            const known = await session.read() as Remembered | null
            const { skills, bodies } = known ?? { skills: await indexSkills(folders, fs, log), bodies: {} }
            const skill = skills.find((one) => one.name === name)
            if (skill === undefined) throw unknown(name, skills)
            const body = Object.hasOwn(bodies, name) ? bodies[name]! : await readBody(skill, fs)
            // What is too much to remember is read again.
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
    // As a whole: what of it a model sees is the host's affair.
    return bodyOf(await fs.readText(path))
  } catch (cause) {
    throw new ToolError('ToolExecutionFailed', `The skill "${name}" could not be read any more: ${(cause as Error).message}`)
  }
}

function unknown(name: string, skills: readonly IndexedSkill[]): ToolError {
  const list = skills.map((skill) => `\n- ${skill.name}: ${skill.description.replaceAll(/\s+/g, ' ')}`)
  let text = skills.length === 0 ? ' There are none here.' : ' There are:'
  for (const line of list) if (text.length + line.length < LIST_CHARS) text += line
  return new ToolError('NotFound', `There is no skill "${name}".${text}`)
}
