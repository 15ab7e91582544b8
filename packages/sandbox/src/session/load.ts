import type { CompartmentCode, CompartmentRequest, CompartmentSession, LifecyclePhase } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { BulkheadError, LIFECYCLE_PHASES, TOOL_NAME_PATTERN } from '@bulkhead/contract'
import { canonicalJson, isJsonObject } from '@bulkhead/kit/json'
import { powersOf } from '@bulkhead/broker'
import type { LoadRequest } from '../wire/protocol.ts'

/** Files that a compartment can import. The other files of a package are not sent. */
const CODE_FILE = /\.(?:m?js|json|wasm)$/

/** The first request to a compartment. */
export function loadRequest({ extension, code, config, tools, services }: CompartmentRequest): LoadRequest {
  return {
    id: extension.id,
    config,
    tools: tools.map((tool) => ({ name: tool.name, powers: [...powersOf(tool, services)] })),
    ...sources(code),
  }
}

function sources(code: CompartmentCode): Pick<LoadRequest, 'main' | 'files'> {
  if (code.kind === 'module') return { main: '', files: [] }
  return {
    main: code.main,
    files: [...code.files]
      .filter(([path]) => CODE_FILE.test(path))
      .map(([path, bytes]) => [path, Buffer.from(bytes).toString('base64')] as const),
  }
}

/**
 * Compares what the code offers with the manifest. Contract: throws ExportsMismatch when they differ, and BoundaryViolation when
 * the reply is malformed.
 */
export function checkOffers(reply: Json, { extension, tools }: CompartmentRequest): CompartmentSession['offers'] {
  const { tools: offered, phases } = readReply(reply)
  const declared = new Map(tools.map((tool) => [tool.name, tool]))
  const missing = [...declared.keys()].filter((name) => !offered.has(name))
  const extra = [...offered.keys()].filter((name) => !declared.has(name))
  if (missing.length > 0 || extra.length > 0) {
    throw mismatch(extension.id, [
      ...(missing.length > 0 ? [`the manifest declares ${listed(missing)}, which the code does not offer`] : []),
      ...(extra.length > 0 ? [`the code offers ${listed(extra)}, which the manifest does not declare`] : []),
    ].join('; '))
  }
  for (const [name, { input, requires }] of offered) {
    const { inputSchema, requires: needs } = declared.get(name)!
    if (input !== undefined && canonicalJson(input) !== canonicalJson(inputSchema)) {
      throw mismatch(extension.id, `the input schema of ${name} differs from the manifest's`)
    }
    if (requires !== undefined && canonicalJson(requires) !== canonicalJson(needs)) {
      throw mismatch(extension.id, `the requirements of ${name} differ from the manifest's`)
    }
  }
  return { phases, approvalKeys: new Set([...offered].filter(([, tool]) => tool.approvalKey).map(([name]) => name)) }
}

const LISTED_NAMES = 5

/** Names can come from the code, so their number, length and characters are limited. */
function listed(names: readonly string[]): string {
  const shown = names.slice(0, LISTED_NAMES).map((name) => TOOL_NAME_PATTERN.test(name) ? name : '(invalid name)')
  return shown.join(', ') + (names.length > shown.length ? ` and ${names.length - shown.length} more` : '')
}

interface OfferedTool {
  readonly approvalKey: boolean
  readonly input: Json | undefined
  readonly requires: Json | undefined
}

interface Offered {
  readonly tools: ReadonlyMap<string, OfferedTool>
  readonly phases: ReadonlySet<LifecyclePhase>
}

function readReply(reply: Json): Offered {
  if (!isJsonObject(reply) || !Array.isArray(reply['tools']) || !Array.isArray(reply['phases'])) throw malformed()
  const tools = new Map<string, OfferedTool>()
  for (const tool of reply['tools'] as readonly Json[]) {
    if (!isJsonObject(tool) || typeof tool['name'] !== 'string') throw malformed()
    tools.set(tool['name'], { approvalKey: tool['approvalKey'] === true, input: tool['input'], requires: tool['requires'] })
  }
  const named: ReadonlySet<Json> = new Set(reply['phases'] as readonly Json[])
  return { tools, phases: new Set(LIFECYCLE_PHASES.filter((phase) => named.has(phase))) }
}

const mismatch = (id: string, what: string): BulkheadError =>
  new BulkheadError(
    'ExportsMismatch',
    `The code of ${id} does not match its manifest: ${what}. Make both agree.`,
    { data: { extension: id } },
  )

const malformed = (): BulkheadError => new BulkheadError(
  'BoundaryViolation',
  'The compartment sent a malformed reply to the request to load, and was killed.',
)
