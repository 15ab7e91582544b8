import { BulkheadError, ToolError, type ExtensionModule } from '@bulkhead/contract'
import { fromGrida, fromStud, type Reading } from '@bulkhead/contract/dialects'

/** A function of the program that embeds the host, as a tool. `defineTool` makes it. */
export interface NamedTool {
  readonly name: string
  execute(args: never, runtime: never): unknown
}

/** A tool in the form of grida. */
export interface GridaToolContract {
  readonly id: string
  readonly description: string
  /** A JSON Schema. */
  readonly parameters: object
  readonly requires?: object
  execute(args: never, runtime: never): unknown
}

/** A tool in the form of stud. Members that a manifest has too have the same meaning. */
export interface StudToolContract {
  readonly kind: 'Tool'
  readonly contractVersion: string
  readonly name: string
  /** stud has none. Default: the name. */
  readonly description?: string
  readonly inputSchema: object
  readonly outputSchema?: object
  /** Remote tools come from MCP servers. */
  readonly executor?: 'local'
  readonly gated?: boolean
  deriveApprovalKey?(args: never): string
  execute(args: never, host: never, signal: AbortSignal): unknown
}

/** A tool of another runtime as one of ours, and what its manifest has besides. */
export interface ImportedTool {
  readonly tool: NamedTool
  readonly manifest: Readonly<Record<string, unknown>>
  readonly phases: Partial<ExtensionModule>
}

const NOTHING = { manifest: {}, phases: {} }

/** undefined if it has neither form. */
export function importTool(given: unknown): ImportedTool | undefined {
  if (typeof given !== 'object' || given === null || typeof (given as NamedTool).execute !== 'function') return undefined
  if ((given as StudToolContract).kind === 'Tool') return fromStudTool(given as StudToolContract)
  const { id, parameters } = given as GridaToolContract
  return typeof id === 'string' && parameters !== undefined && !('name' in given)
    ? fromGridaTool(given as GridaToolContract) : undefined
}

function fromGridaTool(given: GridaToolContract): ImportedTool {
  const { id: name, parameters: input, execute: _, ...rest } = given
  const execute = async (args: never, runtime: never) => valueOf(await given.execute(args, runtime), fromGrida)
  return { ...NOTHING, tool: { ...rest, name, input, execute } as NamedTool }
}

/** The members of a stud contract that belong to the extension. */
const OF_MANIFEST = [
  'kind', 'contractVersion', 'requiredCoreVersion', 'configSchema', 'loadedCardinality', 'activeCardinality',
  'discoveryRules', 'reloadBehavior', 'stateSlot',
] as const
const PHASES = ['init', 'activate', 'deactivate', 'dispose'] as const

function fromStudTool(given: StudToolContract): ImportedTool {
  const written = given as unknown as Readonly<Record<string, unknown>>
  const { name, description = name, inputSchema: input, outputSchema: output, executor, gated, deriveApprovalKey } = given
  if (executor !== undefined && executor !== 'local') {
    throw new BulkheadError(
      'ConfigInvalid', `The tool "${name}" is remote. Configure its MCP server instead.`, { data: { path: '/executor' } },
    )
  }
  const execute = async (args: never, runtime: { readonly signal: AbortSignal }) =>
    valueOf(await given.execute(args, runtime as never, runtime.signal), fromStud)
  const tool = {
    name, description, input, execute, ...(output !== undefined && { output }), ...(gated !== undefined && { gated }),
    ...(deriveApprovalKey && { deriveApprovalKey: (args: never) => given.deriveApprovalKey!(args) }),
  }
  return {
    tool: tool as NamedTool,
    manifest: Object.fromEntries(OF_MANIFEST.filter((key) => written[key] !== undefined).map((key) => [key, written[key]])),
    phases: Object.fromEntries(PHASES.filter((phase) => typeof written[phase] === 'function')
      .map((phase) => [phase, (written[phase] as () => unknown).bind(given)])),
  }
}

/** What the tool returned, out of its envelope. Another value is data. Throws an error that the tool reports. */
function valueOf(returned: unknown, read: (value: never) => Reading | undefined): unknown {
  const body = read(returned as never)?.body
  if (body === undefined) return returned
  if (body.type === 'output') return body.data
  throw Object.assign(
    new ToolError('ToolExecutionFailed', body.error_text, body.error.data), { code: body.error.code },
  )
}
