import { CALL_LIMITS, type Outcome, type ToolDefinition, type ToolManifest } from '@bulkhead/contract'
import { completeOutcome, readReturn, type Reading } from '@bulkhead/contract/dialects'
import { canonicalJson, isJsonObject, type Json } from '@bulkhead/kit/json'
import type { CallFact, CallsFacts } from './calls.ts'
import { firstFact, type Requirement, type ToolFact } from './requirement.ts'
import type { ConformanceTarget } from './target.ts'
import { acceptsOf } from './validators.ts'

/** Reads what the calls of a tool returned, as a host does before a caller gets it. */
export function readerOf({ outputSchema, dialect }: ToolManifest): (value: Json) => Reading {
  const satisfies = outputSchema && acceptsOf(outputSchema)
  return (value) => readReturn(value, { dialect, satisfies })
}

export interface DeliveryFacts {
  readonly delivered: readonly (ToolFact & { readonly fault: string | undefined })[]
}

/** Results of each tool. */
const SHOWN = 4

/** What a client gets of results, if it is connected over MCP. */
export async function observeDelivery(
  { overMcp }: ConformanceTarget, { calls, manifest }: CallsFacts,
): Promise<DeliveryFacts | string> {
  if (overMcp === undefined) return 'no MCP client was given'
  const ended = manifest.tools.flatMap((tool) => {
    const read = readerOf(tool)
    return calls.filter((call) => call.tool === tool && isShown(call)).slice(0, SHOWN)
      .map(({ value = null, args }) => ({ tool: definitionOf(tool), args, outcome: outcomeOf(read(value), tool) }))
  })
  const delivered = await overMcp(ended.map(({ tool, outcome }) => ({ tool, outcome })))
  return {
    delivered: ended.map(({ tool, args, outcome }, index) =>
      ({ tool, args, fault: faultOf(outcome, delivered[index]!) })),
  }
}

/** Arguments that a host accepts, and a result that is not cut. */
const isShown = ({ kind, value }: CallFact): boolean => (kind === 'valid' || kind === 'example')
  && value !== undefined && JSON.stringify(value).length <= CALL_LIMITS.shownBytes

const outcomeOf = (reading: Reading, { name: tool }: ToolManifest): Outcome =>
  completeOutcome(reading, { call_id: 'conformance', tool, origin: null, duration_ms: 0, attempt: 1 })

/** What a client sees of a tool. */
function definitionOf(tool: ToolManifest): ToolDefinition {
  const { name, label = name, description, inputSchema, outputSchema, requires } = tool
  const { gated, idempotent, mode = 'local', kind = 'other' } = tool
  return {
    name, label, description, inputSchema, ...(outputSchema && { outputSchema }), requires, mode, kind, gated,
    idempotent, effects: tool.effects ?? (idempotent ? 'idempotent' : 'once'), executor: 'local',
  }
}

type Delivered = Awaited<ReturnType<NonNullable<ConformanceTarget['overMcp']>>>[number]

function faultOf(outcome: Outcome, delivered: Delivered): string | undefined {
  if ('fault' in delivered) return `the client rejects the result: ${delivered.fault}`
  const { structuredContent = null, isError } = delivered
  if (isError !== (outcome.type === 'error')) return `the client gets ${isError ? 'an error' : 'no error'}`
  if (outcome.type === 'error' || !isJsonObject(outcome.data)) return undefined
  return canonicalJson(structuredContent) === canonicalJson(outcome.data)
    ? undefined : `the client gets ${JSON.stringify(structuredContent).slice(0, 120)}`
}

export const DELIVERY_REQUIREMENTS: readonly Requirement<DeliveryFacts>[] = [
  {
    id: 'output-mcp', level: 'must', spec: 'docs/guides/publishing.md',
    statement: 'A client of MCP accepts the results of valid calls, and gets them whole.',
    why: 'Agents call tools over MCP, and their clients validate results.',
    cure: 'Return what the outputSchema declares.',
    check: ({ delivered }) => firstFact(delivered, ({ fault }) => fault),
  },
]
