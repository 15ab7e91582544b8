import { isAbsolute, join, sep } from 'node:path'
import { BulkheadError, type ErrorCode, type ReaderContext, type VariableValues } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import type { UsableAgent } from './agents.ts'

/** A folder or file outside of the workspace that a session may use, with its links followed. */
export interface FoundRoot {
  readonly path: string
  readonly isFolder: boolean
  /** What no tool may write in it. */
  readonly neverWritten?: readonly string[]
}

export interface RootSources {
  readonly workspace: string
  readonly neverWritten: readonly string[]
  /** The values for sessions without roots of their own. */
  readonly variables: VariableValues
  /** Contract: throws for a path that does not exist, and for one in a folder of the host. */
  readonly findRoot: ((path: string) => FoundRoot) | undefined
}

export interface RootOptions {
  readonly roots?: readonly string[] | undefined
  readonly adHoc?: readonly string[] | undefined
}

/** Where the tools of a session work. */
export interface SessionPlaces {
  /** The values of the variables. */
  readonly variables: VariableValues
  readonly paths: ReaderContext
}

/**
 * `{workspace}` also stands for the roots of the session and of its agent, `{ad-hoc}` for the files and folders that
 * the embedder names. Throws ConfigInvalid or AgentInvalid for one that cannot be used.
 */
export function sessionPlaces(
  options: RootOptions, agent: UsableAgent | undefined, sources: RootSources,
): SessionPlaces {
  const { workspace, variables, neverWritten } = sources
  const { roots = [], adHoc = [] } = options
  const ofAgent = agent?.manifest.roots ?? []
  if (roots.length + adHoc.length + ofAgent.length === 0) return { variables, paths: { workspace, neverWritten } }
  const ofSession: Origin = { what: 'root', owner: 'session', code: 'ConfigInvalid', within: undefined }
  const opened: Origin = { ...ofSession, what: 'ad-hoc file or folder' }
  const found = [
    ...roots.map((path, index) => findRoot(path, `/roots/${index}`, ofSession, sources)),
    ...ofAgent.map((path, index) => findRoot(path, `/roots/${index}`, originOf(agent!, sources), sources)),
  ]
  const further = [...new Set(found.map(({ path }) => path))].filter((path) => path !== workspace)
  const values = [workspace, ...further]
  const open = adHoc.map((path, index) => find(path, `/adHoc/${index}`, opened, sources, values))
  return {
    variables: { ...variables, workspace: values, 'ad-hoc': [...new Set(open.map(({ path }) => path))] },
    paths: {
      workspace, roots: further,
      neverWritten: [...neverWritten, ...[...found, ...open].flatMap((root) => root.neverWritten ?? [])],
    },
  }
}

/** Who names a path. */
interface Origin {
  /** What the path is for. */
  readonly what: string
  readonly owner: string
  readonly code: ErrorCode
  /** The folder that must contain it. */
  readonly within: string | undefined
}

/**
 * A project may not reach beyond its own folder: its files are written by others, and trust in it is trust in what it
 * does with its own content.
 */
const originOf = ({ name, layer }: UsableAgent, { workspace }: RootSources): Origin =>
  ({ what: 'root', owner: `agent "${name}"`, code: 'AgentInvalid', within: layer === 'project' ? workspace : undefined })

function findRoot(given: string, pointer: string, origin: Origin, sources: RootSources): FoundRoot {
  const found = find(given, pointer, origin, sources, [sources.workspace])
  if (found.isFolder) return found
  throw refused(given, pointer, origin, 'is not a folder', 'Name a folder; name single files in `adHoc`.')
}

/** `kept`: folders that it may not contain. */
function find(
  given: string, pointer: string, origin: Origin, { workspace, findRoot: look }: RootSources, kept: readonly string[],
): FoundRoot {
  const refuse = (what: string, cure: string) => refused(given, pointer, origin, what, cure)
  if (look === undefined) throw refuse('cannot be used', 'This host works in its workspace only.')
  let found: FoundRoot
  try {
    found = look(isAbsolute(given) ? given : join(workspace, given))
  } catch (thrown) {
    throw refuse(`cannot be used: ${messageOf(thrown)}`, 'Name another one.')
  }
  // A tool that may write there could replace the workspace by a link.
  if (kept.some((folder) => folder !== found.path && isWithin(folder, found.path))) {
    throw refuse('contains the workspace or another root', 'Open the host in that folder instead.')
  }
  const { within } = origin
  if (within !== undefined && found.path !== within && !isWithin(found.path, within)) {
    throw refuse(
      'is outside the project, and an agent of a project may not name such a folder',
      'Define the agent in your own layer, or pass the folder in `roots` of `openSession`.',
    )
  }
  return found
}

const isWithin = (path: string, folder: string): boolean => path.startsWith(folder.endsWith(sep) ? folder : folder + sep)

const refused = (given: string, path: string, origin: Origin, why: string, cure: string): BulkheadError =>
  new BulkheadError(
    origin.code, `The ${origin.what} "${visibleText(given)}" of the ${origin.owner} ${why}. ${cure}`, { data: { path } },
  )
