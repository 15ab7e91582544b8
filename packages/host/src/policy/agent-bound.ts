import {
  compileCeiling, compileGrant, narrowPower, type AgentManifest, type Power, type ScopedRule, type VariableValues,
} from '@bulkhead/contract'
import type { Settings } from '../model/settings.ts'
import type { CeilingSource } from './model/verdict.ts'

/**
 * What `requires` of an agent without a `ceiling` does. `narrows`: it is the ceiling, as before agents had one. `adds`:
 * it is part of the surface of the session.
 */
export type AgentsRequire = 'narrows' | 'adds'

/** What limits every call of the session of an agent. */
export interface AgentBound {
  readonly key: 'ceiling' | 'requires'
  readonly source: CeilingSource
  readonly power: Power
}

interface AgentSources {
  readonly agent: AgentManifest | undefined
  readonly agentsRequire: AgentsRequire
  readonly variables: VariableValues
  readonly hasOwnValues: boolean
  readonly settings: Pick<Settings, 'ceilings'>
}

/** Throws RequirementInvalid for a pattern that cannot be compiled. */
export function boundOf({ agent, agentsRequire, variables }: AgentSources): AgentBound | undefined {
  if (agent === undefined) return undefined
  const key = isNarrowing(agent, agentsRequire) ? 'requires' : 'ceiling'
  const limits = agent[key]
  // Like a ceiling, it does not forbid sub-agents: it limits what they do.
  return limits && {
    key, source: `${key} of the agent ${agent.name}`, power: compileGrant(limits, variables, { subagents: true }),
  }
}

/** Whether `requires` of an agent is its ceiling. */
export const isNarrowing = ({ ceiling, requires }: AgentManifest, agentsRequire: AgentsRequire): boolean =>
  ceiling === undefined && requires !== undefined && agentsRequire === 'narrows'

/**
 * What the agent requires besides its tools, as far as the ceilings of the configuration and these limits allow it.
 * undefined for nothing.
 */
export function additionOf(
  limits: readonly Power[], { agent, agentsRequire, variables, settings }: AgentSources,
): Power | undefined {
  if (agent?.requires === undefined || isNarrowing(agent, agentsRequire)) return undefined
  return [...settings.ceilings.map(({ ceiling }) => compileCeiling(ceiling, variables)), ...limits]
    .reduce(narrowPower, compileGrant(agent.requires, variables))
}

/** What limits every tool of a session besides its grant, as one text. undefined for nothing. */
export function confinementOf(
  limits: readonly Power[], rules: readonly ScopedRule[],
  { hasOwnValues, variables }: Pick<AgentSources, 'hasOwnValues' | 'variables'>,
): string | undefined {
  const isRuled = rules.some(({ action }) => action !== 'allow')
  return limits.length === 0 && !hasOwnValues && !isRuled
    ? undefined : JSON.stringify([limits, hasOwnValues ? variables : null, isRuled ? rules : null])
}
