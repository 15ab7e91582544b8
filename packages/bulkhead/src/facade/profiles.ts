import { BulkheadError, type ConfigFile } from '@bulkhead/contract'
import type { AgentRunner } from '@bulkhead/host'

/**
 * Defaults of one specification. They are below everything that the user, the project, the embedder and the machine
 * write. Contract: none lowers a wall, a deny or a protected place.
 */
interface Profile {
  readonly projectFolder?: string
  /** Of the bundled layer. */
  readonly config?: ConfigFile
  /** `adds`: what agents require is part of the surface of their sessions. */
  readonly agentsRequire?: 'adds'
  /** How many levels of sub-agents `task` opens. */
  readonly agentLevels?: number
}

/** A specification whose defaults a host can have. */
export type ProfileName = 'stud' | 'grida' | 'morphix' | 'steerable' | 'phi'

export const PROFILES: Readonly<Record<ProfileName, Profile>> = {
  stud: { projectFolder: '.stud' },
  grida: { agentsRequire: 'adds' },
  morphix: { config: { budget: { tokens: 8_000 } } },
  steerable: { config: { treatment: { preset: 'steerable' } } },
  phi: { agentLevels: 1 },
}

export const profileOf = (name: ProfileName | undefined): Profile => name === undefined ? {} : PROFILES[name]

interface ProfiledOptions {
  readonly profile?: ProfileName
  readonly projectFolder?: string
  readonly runAgent?: AgentRunner
}

/** The options with those of the profile that they do not have themselves. */
export function withProfile<Options extends ProfiledOptions>(options: Options): Options {
  const { projectFolder, agentLevels } = profileOf(options.profile)
  const { runAgent } = options
  return {
    ...options,
    ...(projectFolder !== undefined && options.projectFolder === undefined && { projectFolder }),
    ...(runAgent && agentLevels !== undefined && { runAgent: upTo(agentLevels, runAgent) }),
  }
}

const upTo = (levels: number, run: AgentRunner): AgentRunner => async (request, signal) => {
  const { depth } = request.session
  if (depth <= levels) return run(request, signal)
  throw new BulkheadError('SubagentDepthExceeded', `Sub-agents are nested ${levels} deep at most.`,
    { data: { depth, limit: levels } })
}
