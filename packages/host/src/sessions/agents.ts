import {
  BulkheadError, checkRequirements, type AgentDescriptor, type AgentInput, type AgentManifest, type Diagnostic, type ScopedRule,
} from '@bulkhead/contract'
import { agentManifestSchema, firstFault } from '@bulkhead/contract/validation'
import type { JsonObject } from '@bulkhead/kit/json'
import { deepFreeze } from '@bulkhead/kit/json-copy'
import { meantNames, visibleText } from '@bulkhead/kit/text'
import { authorOf, diagnosticLayer } from '../model/settings.ts'
import type { Naming } from '../model/unknown-names.ts'
import { isNarrowing, type AgentsRequire } from '../policy/agent-bound.ts'

/** The agents that a session can be opened for, by name. A later one hides an earlier one with the same name. */
export class Agents {
  readonly #byName: ReadonlyMap<string, AgentDescriptor>

  readonly #isUntrusted: boolean

  /** `isUntrusted`: the project may have agents that were not read. */
  constructor(found: readonly AgentDescriptor[], isUntrusted = false) {
    this.#byName = new Map(found.map((agent) => [agent.name, agent]))
    this.#isUntrusted = isUntrusted
  }

  list(): readonly AgentDescriptor[] {
    return [...this.#byName.values()].toSorted((a, b) => a.name < b.name ? -1 : 1)
  }

  get usable(): readonly UsableAgent[] {
    return this.list().filter(isUsable)
  }

  /** The agent that a session is opened for: a name, or a defined one. Throws AgentNotFound or AgentInvalid. */
  of(agent: string | AgentInput | undefined): UsableAgent | undefined {
    return typeof agent === 'string' ? this.named(agent) : agent && readAgent(agent)
  }

  /** Throws AgentNotFound, or AgentInvalid if its file cannot be used. */
  named(name: string): UsableAgent {
    const agent = this.#byName.get(name)
    if (agent === undefined) {
      throw notFound(name, this.list().map((known) => known.name), this.#isUntrusted)
    }
    if (!isUsable(agent)) throw unusable(agent.name, agent.fault)
    return agent
  }
}

export type UsableAgent = AgentDescriptor & { readonly manifest: AgentManifest }
const isUsable = (agent: AgentDescriptor): agent is UsableAgent => agent.manifest !== undefined

function notFound(name: string, agents: readonly string[], isUntrusted: boolean): BulkheadError {
  const known = agents.length === 0 ? ' There are no agents.' : ` Use one of: ${agents.join(', ')}.`
  const trust = isUntrusted ? ' Agents of the project are not read until it is trusted: run `bulkhead trust`.' : ''
  const message = `No agent is called "${visibleText(name)}".${meantNames(name, agents) || `${known}${trust}`}`
  return new BulkheadError('AgentNotFound', message, { data: { name, agents } })
}

function unusable(name: string, fault: Diagnostic | undefined): BulkheadError {
  const why = fault ? `${fault.message} ${fault.cure}` : 'Its manifest is missing.'
  const data: JsonObject = fault ? { name, location: fault.location, path: fault.path } : { name }
  return new BulkheadError('AgentInvalid', `The agent "${name}" cannot be used. ${why}`, { data })
}

/** A deny of an agent is final. */
export const rulesOf = ({ layer, location, manifest }: UsableAgent): readonly ScopedRule[] =>
  manifest.rules.map((rule, index) =>
    ({ ...rule, isFinal: true, ofAgent: true, author: authorOf(layer), source: `${location}#/rules/${index}` }))

/** The names of tools in an agent. */
export const namingOf = ({ layer, location, manifest: { rules, tools } }: UsableAgent): Naming =>
  ({ layer, location, config: { rules }, offered: tools })

/** `requires` limits agents that were written before they had `ceiling`. Their authors have to say which is meant. */
export function ceilingDiagnostics(
  agents: readonly UsableAgent[], agentsRequire: AgentsRequire,
): readonly Diagnostic[] {
  return agents.filter(({ manifest }) => isNarrowing(manifest, agentsRequire)).map(({ name, layer, location }) => ({
    severity: 'warning', stage: 'shape', code: 'AgentInvalid', layer: diagnosticLayer(layer), extensionId: null,
    location, path: '/requires',
    message: `\`requires\` of the agent "${name}" limits its session, because the agent has no \`ceiling\`.`,
    cure: 'Rename it to `ceiling`.',
  }))
}

/** The agents of the embedder. Throws AgentInvalid, also for two with one name. */
export function readAgents(agents: readonly AgentInput[]): readonly UsableAgent[] {
  const read = agents.map((agent, index) => readAgent(agent, `/agents/${index}`))
  const names = read.map(({ name }) => name)
  const index = names.findIndex((name, at) => names.indexOf(name) !== at)
  if (index < 0) return read
  throw invalid(`/agents/${index}/name`, `Two agents have the name "${names[index]!}". Rename one of them.`)
}

/** An agent of the embedder, at `place` in the options. Throws AgentInvalid. */
export function readAgent(agent: AgentInput, place = '/agent'): UsableAgent {
  const parsed = agentManifestSchema.safeParse(agent)
  if (!parsed.success) {
    const { path, message } = firstFault(parsed.error.issues, agentManifestSchema, '', place)
    throw invalid(path, `The agent is invalid: ${message}`)
  }
  const { name } = parsed.data
  for (const key of ['ceiling', 'requires'] as const) {
    try {
      checkRequirements(parsed.data[key] ?? {})
    } catch (thrown) {
      throw invalid(`${place}/${key}`, `The agent "${name}" is invalid: ${BulkheadError.from(thrown).message}`)
    }
  }
  return { name, layer: 'embedder', location: `agent ${name}`, manifest: deepFreeze(parsed.data) }
}

const invalid = (path: string, message: string) => new BulkheadError('AgentInvalid', message, { data: { path } })
