import { hash } from 'node:crypto'
import { defineTool, ToolError, type FileReader, type SkillDescriptor } from '@bulkhead/contract'
import { isJsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'

/** Maximum length of the list of skills in an error message. */
const LIST_CHARS = 4_000
/** The most files of a skill that a result names. */
const MOST_FILES = 100
const SKILL_FILE = 'SKILL.md'

/** The skills of a workspace. The loader has found and checked them, and a project among them is trusted. */
export interface SkillCatalog {
  skills(): readonly SkillDescriptor[]
  /** Reads a file of a skill of the user. Tools have no access to its folder. */
  read(skill: SkillDescriptor, path: string): Promise<Uint8Array>
  /** Called when a session has loaded a skill, so that its files can be read. */
  loaded(sessionId: string, skill: SkillDescriptor): void
}

export interface SkillOptions {
  readonly catalog?: SkillCatalog | undefined
  /** The folders of a project that may have skills, relative to the workspace. Default: without configured ones. */
  readonly folders?: readonly string[] | undefined
}

const FOLDERS = ['.agents/skills', '.claude/skills', '.bulkhead/skills']

const EMPTY: SkillCatalog = { skills: () => [], read: async () => new Uint8Array(), loaded: () => undefined }

export const createTool = (
  { skills: { catalog = EMPTY, folders = FOLDERS } = {} }: { readonly skills?: SkillOptions | undefined },
) => defineTool({
  label: 'Load a skill',
  description: 'Loads the instructions of a skill, and names its folder and the files in it, which can be read '
    + 'afterwards. If the name is unknown, the error lists the available skills.',
  input: {
    type: 'object',
    properties: { name: { type: 'string', minLength: 1, maxLength: 64, description: 'The name of the skill.' } },
    required: ['name'],
    additionalProperties: false,
  },
  requires: {
    fs: { read: [...folders.map((path) => `{workspace}/${path}`), '{user-data}/skills'] }, capabilities: ['session'],
  },
  gated: false,
  mode: 'read',
  kind: 'think',
  idempotent: true,
  maxOutput: '256KB',
  async execute({ name }, { fs, session }) {
    const skills = catalog.skills()
    const skill = skills.find((one) => one.name === name)
    if (skill === undefined) throw notFound(name, skills)
    const body = bodyOf(await readText(skill, fs, catalog))
    catalog.loaded(await session.id(), skill)
    const { location: folder } = skill
    const files = [...skill.files.keys()].filter((path) => path !== SKILL_FILE).toSorted().slice(0, MOST_FILES)
    const shown = visibleText(folder).replaceAll('"', '&quot;')
    const content = `<skill_content name="${name}" folder="${shown}">\n${body.trim()}\n</skill_content>`
    return { content, folder, ...(files.length > 0 && { files }) }
  },
  deriveApprovalKey: ({ name }) => name,
})

/** The text that was found and, for a project, trusted. A file that has changed since then is not used. */
async function readText(skill: SkillDescriptor, fs: FileReader, catalog: SkillCatalog): Promise<string> {
  const { name, layer, location, files } = skill
  let bytes: Uint8Array
  try {
    // The host decides how much of it the model sees.
    bytes = layer === 'project' ? await fs.read(`${location}/${SKILL_FILE}`) : await catalog.read(skill, SKILL_FILE)
  } catch (cause) {
    throw new ToolError('ToolExecutionFailed', `Cannot read the skill "${name}": ${(cause as Error).message}`)
  }
  if (hash('sha512', bytes, 'hex') === files.get(SKILL_FILE)) return new TextDecoder().decode(bytes)
  throw new ToolError(
    'ToolExecutionFailed',
    `The skill "${name}" has changed since it was loaded, so it is not used. Have the person review it, and reload.`,
  )
}

function notFound(name: string, skills: readonly SkillDescriptor[]): ToolError {
  const list = skills.map((skill) => `\n- ${skill.name}: ${skill.description.replaceAll(/\s+/g, ' ')}`)
  let text = skills.length === 0 ? ' No skills are available.' : ' Available skills:'
  for (const line of list) if (text.length + line.length < LIST_CHARS) text += line
  const data = { skills: skills.map((skill) => ({ name: skill.name, description: skill.description })) }
  return new ToolError('NotFound', `There is no skill "${name}".${text}`, data)
}

const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const HEAD = /^\ufeff?---[ \t]*\r?\n([^]*?)\r?\n---[ \t]*(?:\r?\n|$)/

/** Returns the front matter of a SKILL.md, or a description of the fault. */
export async function readSkillHead(
  text: string, folder: string,
): Promise<Pick<SkillDescriptor, 'name' | 'description'> | string> {
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
