import {
  type AffectedPath, type ArgumentsReader, type CallNeed, type FromJsonSchema, ToolError,
} from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { absolute, insidePath, pathKey, simpleReading, stringOr } from '../model/paths.ts'

const ACTIONS = ['status', 'diff', 'log', 'show', 'add', 'commit', 'branch'] as const
type Action = (typeof ACTIONS)[number]

export const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    action: { enum: ACTIONS, description: 'What to do.' },
    path: {
      type: 'string', minLength: 1,
      description: 'The folder of the repository, relative to the workspace. Default: the workspace.',
    },
    paths: {
      type: 'array', minItems: 1, maxItems: 500, items: { type: 'string', minLength: 1, maxLength: 4096 },
      description: 'For diff, log, show and add: files or folders, relative to the root of the repository.',
    },
    revision: {
      type: 'string', minLength: 1, maxLength: 1000,
      description: 'For diff: a commit, or a range such as main..HEAD. For log: where to begin. For show: a commit, or '
        + 'commit:file for the content of a file. For branch: where a new branch begins.',
    },
    staged: { type: 'boolean', description: 'For diff: compare what is staged with the last commit.' },
    max_count: { type: 'integer', minimum: 1, maximum: 500, description: 'For log: how many commits. Default: 20.' },
    message: { type: 'string', minLength: 1, maxLength: 100_000, description: 'For commit: the message.' },
    name: {
      type: 'string', minLength: 1, maxLength: 250,
      description: 'For branch: the branch to create. Without it, branches are listed.',
    },
    switch: { type: 'boolean', description: 'For branch: switch to the branch. Creates it if it does not exist.' },
  },
  required: ['action'],
  additionalProperties: false,
} as const

export type GitArgs = FromJsonSchema<typeof INPUT_SCHEMA>

/** The arguments of each action, besides `action` and `path`. */
const TAKES: Readonly<Record<Action, readonly string[]>> = {
  status: [], diff: ['paths', 'revision', 'staged'], log: ['paths', 'revision', 'max_count'],
  show: ['paths', 'revision'], add: ['paths'], commit: ['message'], branch: ['name', 'revision', 'switch'],
}
const NEEDS: Readonly<Partial<Record<Action, string>>> = { add: 'paths', commit: 'message' }

/** Throws InputInvalid for arguments that the action does not take, or that git would not read as data. */
export function checkArguments(args: GitArgs): void {
  const { action, name, revision } = args
  const takes = TAKES[action]
  const wrong = Object.keys(args).find((key) => key !== 'action' && key !== 'path' && !takes.includes(key))
  if (wrong !== undefined) {
    throw invalid(`The action "${action}" does not take "${wrong}". It takes ${['path', ...takes].join(', ')}.`)
  }
  const needed = NEEDS[action]
  if (needed !== undefined && !(needed in args)) throw invalid(`The action "${action}" needs "${needed}".`)
  if (action === 'branch' && name === undefined && Object.keys(args).some((key) => takes.includes(key))) {
    throw invalid('The action "branch" needs "name" to create a branch or to switch to one.')
  }
  for (const [key, value] of [['revision', revision], ['name', name]] as const) {
    if (value?.startsWith('-') === true) throw invalid(`"${value}" is an option, and no ${key}. Pass a ${key}.`)
  }
}

/** A path as git takes it, relative to the root of the repository. Throws InputInvalid for one outside. */
export function repositoryPath(path: string, top: string): string {
  const inside = insidePath(path, { workspace: top, folder: '.' })
  if (inside !== undefined) return inside
  throw invalid(`"${path}" is outside the repository. Pass a path relative to the root of the repository.`)
}

const invalid = (message: string): ToolError => new ToolError('InputInvalid', message)

/** The command that a person would type. Ceilings check it. */
export function writtenCommand({ action, paths, revision, staged, max_count, message, name, switch: moves }: GitArgs) {
  const verb = action === 'branch' && moves === true ? 'switch' : action
  return {
    cmd: 'git',
    args: [
      verb,
      ...(staged === true ? ['--staged'] : []),
      ...(max_count === undefined ? [] : [`--max-count=${max_count}`]),
      ...(message === undefined ? [] : ['-m', message]),
      ...(name === undefined ? [] : [name]),
      ...(revision === undefined ? [] : [revision]),
      ...(paths === undefined ? [] : ['--', ...paths]),
    ],
  }
}

const READS: ReadonlySet<string> = new Set<Action>(['status', 'diff', 'log', 'show'])

/**
 * Actions that only read run without approval where a wall stands, which keeps what git follows in the workspace. The
 * key is the action and the folder.
 */
export const readGitArguments: ArgumentsReader = (args, { workspace, roots = [] }) => {
  const given = args as Readonly<Record<string, Json>>
  const action = stringOr(given['action'])
  const path = stringOr(given['path'], '.')
  const folder = insidePath(path, { workspace, folder: '.', roots })
  const reads = READS.has(action) || (action === 'branch' && given['name'] === undefined)
  const verb = action === 'branch' && given['switch'] === true ? 'switch' : action
  const where = folder === '.' ? '' : ` in ${pathKey(folder ?? path)}`
  const denies = folder === undefined ? [`the folder ${path} is outside the workspace`] : []
  const touch = `run git ${verb}${where}${detailOf(given)}`
  // The repository is checked first. Below the workspace it is not known where it is.
  const files = (folder === '.' ? ['.', '.git'] : [folder ?? path]).map((file): CallNeed =>
    ({ kind: 'fs.read', subject: absolute(workspace, file) }))
  const shell: CallNeed = { kind: 'shell', subject: 'git', args: writtenCommand(given as unknown as GitArgs).args }
  const key = `git ${verb}${where}`
  const reading = simpleReading(key, [], touch, denies)
  const { subjects } = reading
  const command = { line: JSON.stringify(args), ...(reads && { look: { key, subjects } }) }
  const found = { ...reading, needs: [shell, ...files], command }
  // After a link, `..` leads to an unknown folder.
  if (folder === undefined || path.split('/').includes('..')) return found
  const at = absolute(workspace, folder)
  const root = [workspace, ...roots].find((one) => insidePath(at, { workspace: one, folder: '.' }) !== undefined)!
  const writes = reads ? [] : verb === 'switch' ? [root] : gitFolders(at, root)
  const below = (one: string): AffectedPath => ({ path: one, below: true })
  const effects = { reads: [...readPaths(given, at, root)].map(below), writes: writes.map(below), net: false as const }
  return { ...found, effects, ...(reads && { onlyReads: 'walled' }) }
}

/** The repository of a folder can be that of any folder above it. */
function gitFolders(folder: string, root: string): readonly string[] {
  const found: string[] = []
  for (let at = folder; at.length >= root.length && at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
    found.push(`${at}/.git`)
  }
  return found
}

/** Given paths begin at the root of the repository. It is only known if it is the workspace. */
function readPaths({ paths }: Readonly<Record<string, Json>>, at: string, root: string): readonly string[] {
  if (!Array.isArray(paths) || at !== root) return [root]
  return paths.map((path) => absolute(root, insidePath(stringOr(path), { workspace: root, folder: '.' }) ?? '.'))
}

/** What a person should see of the arguments. */
function detailOf({ paths, message, name }: Readonly<Record<string, Json>>): string {
  if (typeof message === 'string') return `: ${message}`
  if (typeof name === 'string') return `: ${name}`
  return Array.isArray(paths) ? `: ${paths.join(', ')}` : ''
}
